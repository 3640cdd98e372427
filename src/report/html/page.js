'use strict';
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

  // What an element of a picture says: the text of its own title.
  function told(element) {
    const title = Array.from(element.children).find(function (child) {
      return child.nodeName === 'title';
    });
    return title ? title.textContent : '';
  }

  document.querySelectorAll('figure').forEach(function (figure) {
    const picture = figure.querySelector('svg');
    if (!picture) return;
    const saying = make('output', '');
    saying.setAttribute('aria-live', 'polite');
    picture.after(saying);

    const series = Array.from(picture.querySelectorAll('.series'));
    if (series.length > 1) {
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

    const points = Array.from(picture.querySelectorAll('.point, .bar'));
    let at = -1;
    function show(element) {
      points.forEach(function (one) { one.classList.toggle('on', one === element); });
      const group = element && element.closest('.series');
      const name = group ? group.dataset.name + ', ' : '';
      saying.textContent = element ? name + told(element) : '';
    }
    if (points.length === 0) return;
    picture.addEventListener('pointerover', function (event) {
      const element = event.target.closest('.point, .bar');
      if (element) show(element);
    });
    picture.addEventListener('pointerleave', function () { show(null); });
    picture.setAttribute('tabindex', '0');
    picture.addEventListener('blur', function () { show(null); });
    picture.addEventListener('keydown', function (event) {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      const seen = points.filter(function (one) { return !one.closest('.off'); });
      if (seen.length === 0) return;
      const place = seen.indexOf(points[at]);
      const next = seen[(place + step + seen.length) % seen.length];
      at = points.indexOf(next);
      show(next);
    });
  });

  // On paper nothing can be opened.
  let opened = [];
  window.addEventListener('beforeprint', function () {
    opened = Array.from(document.querySelectorAll('section > details:not([open])'));
    opened.forEach(function (one) { one.open = true; });
  });
  window.addEventListener('afterprint', function () {
    opened.forEach(function (one) { one.open = false; });
  });
}());
