// All that the page says is there without this. It copies tables, switches series off, and tells
// what is pointed at, by mouse or keyboard.
(function () {
  function make(name, words, parent) {
    const element = document.createElement(name);
    element.textContent = words;
    if (parent) parent.append(element);
    return element;
  }

  function button(words, parent, act) {
    const element = make('button', words, parent);
    element.type = 'button';
    element.addEventListener('click', function () { act(element); });
    return element;
  }

  // RFC 4180.
  function csv(table) {
    return Array.from(table.rows, function (row) {
      return Array.from(row.cells, function (cell) {
        const text = cell.textContent.replace(/\u00ad/g, '').trim();
        return /[",\r\n]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text;
      }).join(',');
    }).join('\r\n') + '\r\n';
  }

  function copied(text) {
    if (navigator.clipboard && window.isSecureContext) {
      return navigator.clipboard.writeText(text);
    }
    const area = document.createElement('textarea');
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand('copy');
    area.remove();
    return done ? Promise.resolve() : Promise.reject(new Error('refused'));
  }

  document.querySelectorAll('.scroll').forEach(function (frame) {
    const table = frame.querySelector('table');
    const tools = make('div', '');
    tools.className = 'tools';
    frame.after(tools);
    const said = 'Copy as CSV';
    button(said, tools, function (own) {
      copied(csv(table)).then(
        function () { own.textContent = 'Copied'; },
        function () { own.textContent = 'Could not copy'; }
      ).then(function () {
        setTimeout(function () { own.textContent = said; }, 1500);
      });
    });
  });

  // What an element of a picture says: the text of its own title, with its line's name.
  function told(element) {
    const title = Array.from(element.children).find(function (child) {
      return child.nodeName === 'title';
    });
    const group = element.closest('.series');
    return (group ? group.dataset.name + ', ' : '') + (title ? title.textContent : '');
  }

  // The corners of a line, in the picture's own pixels, with the figures that they stand for.
  function curveOf(series) {
    const steps = series.querySelector('path').getAttribute('d').slice(1).split(' ');
    const corners = [];
    steps.forEach(function (step) {
      if (step[0] === 'H') corners.push([Number(step.slice(1)), 0]);
      else if (step[0] === 'V') corners[corners.length - 1][1] = Number(step.slice(1));
      else corners.push(step.split(',').map(Number));
    });
    const figures = series.dataset.figures.split(' ').map(function (it) { return it.split(':'); });
    return { name: series.dataset.name, corners: corners, figures: figures };
  }

  // Lines without marks: the corner nearest to a place is told, and shown by a ring.
  function follow(picture, saying) {
    const axes = picture.querySelector('.axes');
    const ring = document.createElementNS(picture.namespaceURI, 'circle');
    ring.setAttribute('class', 'ring');
    ring.setAttribute('r', '5');
    picture.append(ring);
    let which = 0;
    let corner = -1;
    function curves() {
      const seen = picture.querySelectorAll('.series[data-figures]:not(.off)');
      return Array.from(seen, curveOf);
    }
    function show(curve) {
      const place = curve.corners[corner];
      const figure = curve.figures[corner];
      ring.setAttribute('cx', place[0]);
      ring.setAttribute('cy', place[1]);
      saying.textContent = curve.name + ': ' + figure[1] + ' ' + axes.dataset.up +
        ' at ' + figure[0] + ' ' + axes.dataset.across;
    }
    function least(all) { return all.indexOf(Math.min.apply(null, all)); }
    picture.addEventListener('pointermove', function (event) {
      const all = curves();
      if (all.length === 0) return;
      const at = new DOMPoint(event.clientX, event.clientY);
      const own = at.matrixTransform(picture.getScreenCTM().inverse());
      const corners = all.map(function (curve) {
        return least(curve.corners.map(function (it) { return Math.abs(it[0] - own.x); }));
      });
      which = least(all.map(function (curve, index) {
        return Math.abs(curve.corners[corners[index]][1] - own.y);
      }));
      corner = corners[which];
      show(all[which]);
    });
    picture.addEventListener('keydown', function (event) {
      const along = { ArrowRight: 1, ArrowLeft: -1 }[event.key] || 0;
      const over = { ArrowDown: 1, ArrowUp: -1 }[event.key] || 0;
      const all = curves();
      if (all.length === 0 || !along && !over) return;
      event.preventDefault();
      which = (which + over + all.length) % all.length;
      const last = all[which].corners.length - 1;
      corner = Math.min(Math.max(corner + along, 0), last);
      show(all[which]);
    });
    return function () {
      ring.removeAttribute('cx');
      ring.removeAttribute('cy');
      saying.textContent = '';
    };
  }

  // Marks and bars: the one that is pointed at is told.
  function pick(picture, saying) {
    let at = null;
    function all() {
      const marks = Array.from(picture.querySelectorAll('.point, .bar'));
      return marks.filter(function (one) { return !one.closest('.off'); });
    }
    function show(element) {
      if (at) at.classList.remove('on');
      at = element;
      if (at) at.classList.add('on');
      saying.textContent = at ? told(at) : '';
    }
    picture.addEventListener('pointerover', function (event) {
      const element = event.target.closest('.point, .bar');
      if (element) show(element);
    });
    picture.addEventListener('keydown', function (event) {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      const marks = all();
      if (!step || marks.length === 0) return;
      event.preventDefault();
      const place = marks.indexOf(at);
      const from = place < 0 && step < 0 ? 0 : place;
      show(marks[(from + step + marks.length) % marks.length]);
    });
    return function () { show(null); };
  }

  function switches(picture) {
    const series = Array.from(picture.querySelectorAll('.series'));
    if (series.length < 2) return;
    const tools = make('div', '');
    tools.className = 'tools';
    tools.setAttribute('role', 'group');
    tools.setAttribute('aria-label', 'Lines to show');
    picture.after(tools);
    series.forEach(function (one) {
      const own = button(one.dataset.name, tools, function (element) {
        const isOn = element.getAttribute('aria-pressed') === 'true';
        element.setAttribute('aria-pressed', String(!isOn));
        one.classList.toggle('off', isOn);
      });
      own.setAttribute('aria-pressed', 'true');
    });
  }

  document.querySelectorAll('figure').forEach(function (figure) {
    const picture = figure.querySelector('svg');
    if (!picture) return;
    const saying = make('output', '');
    picture.after(saying);
    switches(picture);
    const hasCurves = picture.querySelector('.series[data-figures]') !== null;
    const forget = hasCurves ? follow(picture, saying) : pick(picture, saying);
    picture.setAttribute('tabindex', '0');
    picture.addEventListener('pointerleave', forget);
    picture.addEventListener('blur', forget);
  });

  // On paper nothing can be opened.
  let opened = [];
  window.addEventListener('beforeprint', function () {
    opened = Array.from(document.querySelectorAll('#audit section > details:not([open])'));
    opened.forEach(function (one) { one.open = true; });
  });
  window.addEventListener('afterprint', function () {
    opened.forEach(function (one) { one.open = false; });
  });
}());
