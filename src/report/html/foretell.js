// Sliders: what the model says of the place that they stand at, as words, as a table's cells and as
// bars. The address bar holds the place, so that a link leads there. Words and digits are those of
// src/report/predict.rs and numbers.rs: a test holds the first table against the one that stood
// there before this ran.
(function () {
  const place = document.getElementById('place');
  if (!place) return;
  const told = JSON.parse(place.dataset.model);
  const section = place.closest('section');
  const tables = Array.from(section.querySelectorAll('table.foretold'));
  const NOTHING = '–';
  const FAR = 10;
  const SETTLED_MS = 200;
  const LIMITS = {
    distance: 'distance', flushes: 'flushes', cpus: 'CPUs', appliers: 'appliers', work: 'own work'
  };

  // Figures as people read them.
  function digits(value, most) {
    const size = Math.abs(value);
    const decimals = size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
    return value.toFixed(Math.min(decimals, most));
  }
  const TIME = {
    scale: function (us) {
      const units = [[1e6, ' s'], [1e3, ' ms'], [1, ' µs']];
      const fits = units.find(function (it) { return Math.abs(us) >= it[0] * 0.9995; });
      return fits || units[2];
    },
    digits: function (it) { return digits(it, 2); }
  };
  const RATE = {
    scale: function () { return [1, '']; },
    digits: function (it) { return digits(it, 0); }
  };
  const COUNT = { scale: RATE.scale, digits: function (it) { return it.toFixed(0); } };
  function figure(number, unit) {
    const scale = unit.scale(number);
    return unit.digits(number / scale[0]) + scale[1];
  }
  function range(low, high, unit) {
    const scale = unit.scale(high);
    const each = [low, high].map(function (it) { return unit.digits(it / scale[0]); });
    return each.join('–') + scale[1];
  }
  function span(of, unit) {
    if (!of) return NOTHING;
    return of.low === of.high ? figure(of.low, unit) : range(of.low, of.high, unit);
  }
  function ratio(value) { return value.toFixed(value < 0.0995 ? 3 : 2); }
  function count(number, noun) { return number + ' ' + noun + (number === 1 ? '' : 's'); }

  // One slider with its field: the field has the figure, the slider the step that is nearest.
  function sliderOf(element) {
    const steps = element.dataset.steps.split(' ').map(Number);
    const inputs = element.querySelectorAll('input');
    const slider = {
      name: element.dataset.name, range: inputs[0], number: inputs[1],
      isWhole: inputs[1].step === '1', value: Number(inputs[1].value)
    };
    slider.set = function (value) {
      if (!Number.isFinite(value)) return;
      const ends = [slider.number.min, slider.number.max].map(Number);
      const inside = Math.min(Math.max(value, ends[0]), ends[1]);
      slider.value = slider.isWhole ? Math.round(inside) : inside;
      const far = steps.map(function (step) { return Math.abs(step - slider.value); });
      slider.range.value = String(far.indexOf(Math.min.apply(null, far)));
      const unit = slider.isWhole ? '' : ' ms';
      slider.range.setAttribute('aria-valuetext', slider.value + unit);
    };
    slider.show = function () { slider.number.value = String(slider.value); };
    slider.range.addEventListener('input', function () {
      slider.set(steps[Number(slider.range.value)]);
      slider.show();
      moved(slider);
    });
    slider.number.addEventListener('input', function () {
      if (slider.number.value === '') return;
      slider.set(Number(slider.number.value));
      moved(slider);
    });
    slider.number.addEventListener('change', slider.show);
    slider.set(slider.value);
    return slider;
  }
  const sliders = Array.from(place.querySelectorAll('.slider'), sliderOf);
  function named(name) {
    return sliders.find(function (slider) { return slider.name === name; });
  }
  function valueOf(name, usual) {
    const slider = named(name);
    return slider ? slider.value : usual;
  }

  const pairs = [];
  told.sites.forEach(function (one, index) {
    told.sites.slice(index + 1).forEach(function (other) { pairs.push([one, other]); });
  });
  function us(ms) { return Math.round(ms * 1e6) / 1e3; }

  function at() {
    const flush = named('flush');
    return {
      rtts_us: pairs.map(function (pair, index) {
        return [pair[0], pair[1], us(valueOf('rtt-' + index, 0))];
      }),
      flush_us: flush ? us(flush.value) : null,
      connections: valueOf('connections', 1),
      cpus: { own: valueOf('cpu', 2) }
    };
  }

  // The place in words.
  function placeWords(here) {
    const apart = here.rtts_us.map(function (it) {
      return it[0] + '–' + it[1] + ' ' + figure(it[2], TIME);
    }).join(', ');
    const flush = here.flush_us === null ? 'flush as in the record'
      : 'flush ' + figure(here.flush_us, TIME);
    const cpus = count(here.cpus.own, 'CPU') + ' for each node';
    const all = [apart, flush, count(here.connections, 'connection'), cpus];
    return all.filter(function (part) { return part !== ''; }).join('; ');
  }

  // Where one thing that is asked leaves what was measured, and whether it does.
  function leaves(name, asked, measured, unit, unmeasured) {
    if (!measured) return { text: name + ': ' + unmeasured, isOutside: true };
    const low = measured[0];
    const high = measured[1];
    const far = function (times) { return times < FAR ? 'outside' : 'far outside'; };
    let said = 'inside what was measured, taken alone';
    if (asked < low) {
      const times = low / asked;
      said = asked > 0
        ? far(times) + ', ' + ratio(times) + ' times below the least that was measured'
        : 'far outside, below all that was measured';
    } else if (asked > high) {
      const times = asked / high;
      said = high > 0
        ? far(times) + ', ' + ratio(times) + ' times the most that was measured'
        : 'far outside, above all that was measured';
    }
    return {
      text: name + ': ' + said + ' (' + figure(low, unit) + ' to ' + figure(high, unit) + ')',
      isOutside: asked < low || asked > high
    };
  }

  function besideLines(here) {
    const is = told.measured;
    const none = 'not measured';
    const lines = here.rtts_us.map(function (it) {
      const name = it[0] + '–' + it[1] + ' ' + figure(it[2], TIME);
      return leaves(name, it[2], is.rtt_us, TIME, none);
    });
    if (here.flush_us !== null) {
      const name = 'flush ' + figure(here.flush_us, TIME);
      lines.push(leaves(name, here.flush_us, is.flush_us, TIME, none));
    }
    const clients = count(here.connections, 'connection');
    lines.push(leaves(clients, here.connections, is.connections, COUNT, none));
    const cpus = count(here.cpus.own, 'CPU') + ' for each node';
    const shared = none + ": all nodes shared this host's";
    lines.push(leaves(cpus, here.cpus.own, is.own_cpus, COUNT, shared));
    return lines;
  }

  // As `acklab predict` has it.
  function command(here) {
    const apart = here.rtts_us.map(function (it) {
      const dash = it[0].length === 1 && it[1].length === 1 ? '' : '-';
      return it[0] + dash + it[1] + '=' + it[2] / 1e3 + 'ms';
    });
    const words = ['acklab predict RECORD'];
    if (apart.length > 0) words.push('--distances ' + apart.join(','));
    if (here.flush_us !== null) words.push('--flush ' + here.flush_us / 1e3 + 'ms');
    words.push('--cpu ' + here.cpus.own, '--connections ' + here.connections);
    return words.join(' ');
  }

  function widened(of, factor) {
    return of && factor ? { low: of.low / factor, high: of.high * factor } : null;
  }

  // What each cell of a mode's row says.
  function cells(it, isSingle, isSettled) {
    const p50 = widened(it.p50_us, isSingle ? told.single_factor : told.several_factor);
    const perS = widened(it.commits_per_s, isSingle ? null : told.several_per_s_factor);
    const p99 = widened(it.p99_us, isSingle ? told.single_p99_factor : told.several_p99_factor);
    const from = !it.most ? NOTHING : it.most.from_connections === null ? 'beyond 1000'
      : count(it.most.from_connections, 'connection');
    return {
      p50: span(it.p50_us, TIME), 'p50-within': p50 ? range(p50.low, p50.high, TIME) : NOTHING,
      p99: span(it.p99_us, TIME), 'p99-within': p99 ? range(p99.low, p99.high, TIME) : NOTHING,
      limit: it.limits.map(function (limit) { return LIMITS[limit]; }).join(' or ') || NOTHING,
      'per-s': span(it.commits_per_s, RATE),
      'per-s-within': perS ? range(perS.low, perS.high, RATE) : NOTHING,
      most: isSettled ? span(it.most && it.most.commits_per_s, RATE) : '…',
      from: isSettled ? from : '…',
      replicas: it.replicas_per_s === null ? NOTHING : figure(it.replicas_per_s, RATE),
      bars: { p50: [it.p50_us, p50], perS: [it.commits_per_s, perS] }
    };
  }

  // Whom a mode waits for, and whether it is trusted, does not move.
  const STILL = ['whom', 'trust'];
  function fill(index, said) {
    tables.forEach(function (table) {
      table.tBodies[0].rows[index].querySelectorAll('[data-of]').forEach(function (cell) {
        if (STILL.includes(cell.dataset.of)) return;
        cell.textContent = said ? said[cell.dataset.of] : NOTHING;
      });
    });
  }

  const words = {
    told: document.getElementById('place-told'),
    beside: document.getElementById('place-beside'),
    command: document.getElementById('place-command')
  };

  function lineOf(said) {
    const line = document.createElement('li');
    line.textContent = said.text;
    if (said.isOutside) line.className = 'outside';
    return line;
  }

  // Without a search for the most that can be carried while a slider still moves.
  function show(isSettled) {
    const here = at();
    const isSingle = here.connections === 1;
    const bars = told.modes.map(function (mode, index) {
      const it = model.evaluate(mode.coefficients, here, isSettled);
      const said = it && cells(it, isSingle, isSettled);
      fill(index, said);
      return { name: mode.label, of: said && said.bars };
    });
    words.told.textContent = placeWords(here);
    words.command.textContent = command(here);
    words.beside.replaceChildren.apply(words.beside, besideLines(here).map(lineOf));
    draw('foretold-p50', bars, 'p50', TIME);
    const ofMany = document.getElementById('foretold-per-s');
    if (!ofMany) return;
    ofMany.hidden = isSingle;
    if (!isSingle) draw('foretold-per-s', bars, 'perS', RATE);
  }

  // Bars with their intervals, as src/report/picture/bars.rs draws them.
  const WIDTH = 480;
  const SIDE = 18;
  const LINE = 18;
  const HEIGHT = 14;
  function add(parent, name, attributes, text) {
    const element = document.createElementNS(parent.namespaceURI, name);
    Object.keys(attributes).forEach(function (key) { element.setAttribute(key, attributes[key]); });
    if (text !== undefined) element.textContent = text;
    parent.append(element);
    return element;
  }
  function roundStep(rough) {
    const power = Math.pow(10, Math.floor(Math.log10(rough)));
    const times = [1, 2, 5, 10].find(function (it) { return it * power >= rough * 0.999; });
    return times * power;
  }

  function draw(id, bars, which, unit) {
    const picture = document.getElementById(id).querySelector('svg');
    const known = bars.filter(function (bar) { return bar.of && bar.of[which][0]; });
    const ends = known.map(function (bar) {
      const of = bar.of[which];
      return Math.max(of[0].high, of[1] ? of[1].high : 0);
    });
    const most = Math.max.apply(null, ends.concat([1e-9]));
    const x = function (value) { return SIDE + value / most * (WIDTH - 2 * SIDE); };
    picture.replaceChildren();
    let y = 0;
    known.forEach(function (bar) { y = drawBar(picture, bar, bar.of[which], unit, x, y); });
    const foot = drawAxis(picture, most, unit, x, y);
    picture.setAttribute('viewBox', '0 0 ' + WIDTH + ' ' + (foot + 4));
  }

  function drawBar(picture, bar, of, unit, x, top) {
    const said = span(of[0], unit) +
      (of[1] ? ' (' + range(of[1].low, of[1].high, unit) + ')' : ' (no interval)');
    const group = add(picture, 'g', { class: 'bar' });
    const name = add(group, 'text', { x: 0, y: top + 14 }, bar.name);
    const figures = add(group, 'text', { x: WIDTH, y: top + 14, 'text-anchor': 'end' }, said);
    let y = top + LINE + 3;
    if (name.getComputedTextLength() + figures.getComputedTextLength() + 12 > WIDTH) {
      figures.setAttribute('y', top + LINE + 14);
      y += LINE;
    }
    const part = function (from, to, opacity) {
      add(group, 'rect', {
        class: 'part', x: x(from), y: y, width: x(to) - x(from), height: HEIGHT,
        fill: '#0072B2', 'fill-opacity': opacity
      });
    };
    part(0, of[0].low, 1);
    // From the shortest way to wait to the longest.
    if (of[0].high > of[0].low) part(of[0].low, of[0].high, 0.4);
    if (of[1]) {
      const middle = y + HEIGHT / 2;
      const cap = ',' + (middle - 6) + ' V' + (middle + 6);
      const low = x(of[1].low);
      const high = x(of[1].high);
      const d = 'M' + low + ',' + middle + ' H' + high + ' M' + low + cap + ' M' + high + cap;
      const line = { class: 'interval', d: d, stroke: 'currentColor', 'stroke-width': 2 };
      add(group, 'path', Object.assign(line, { fill: 'none' }));
    }
    add(group, 'title', {}, bar.name + ': ' + said);
    return y + HEIGHT + 12;
  }

  // The foot of the axis.
  function drawAxis(picture, most, unit, x, y) {
    const scale = unit.scale(most);
    const step = roundStep(most / scale[0] / 6) * scale[0];
    const decimals = Math.max(0, -Math.floor(Math.log10(step / scale[0])));
    const line = { stroke: 'currentColor', d: 'M' + SIDE + ',' + y + ' H' + (WIDTH - SIDE) };
    add(picture, 'path', line);
    for (let place = 0; place * step <= most * (1 + 1e-9); place += 1) {
      const at = x(place * step);
      add(picture, 'path', { stroke: 'currentColor', d: 'M' + at + ',' + y + ' v5' });
      const name = (place * step / scale[0]).toFixed(decimals);
      add(picture, 'text', { x: at, y: y + LINE, 'font-size': 12, 'text-anchor': 'middle' }, name);
    }
    const title = unit === TIME ? scale[1].trim() + ' for one commit, median' : 'commits/s';
    const middle = { x: WIDTH / 2, y: y + 2 * LINE, 'font-size': 12, 'text-anchor': 'middle' };
    add(picture, 'text', middle, title);
    return y + 2 * LINE;
  }

  // The address bar: `#foretold?rtt=2,30,30&flush=0.5&cpu=2&connections=32`, times in ms.
  const HASH = '#foretold?';
  function keep() {
    const apart = pairs.map(function (_, index) { return valueOf('rtt-' + index, 0); });
    const parts = apart.length > 0 ? ['rtt=' + apart.join(',')] : [];
    ['flush', 'cpu', 'connections'].forEach(function (name) {
      if (named(name)) parts.push(name + '=' + named(name).value);
    });
    history.replaceState(null, '', HASH + parts.join('&'));
  }
  function put(name, text) {
    const slider = named(name);
    if (!slider || text.trim() === '') return;
    slider.set(Number(text));
    slider.show();
  }
  // Whether the address bar holds a place; what is no figure in it changes nothing.
  function goThere() {
    if (!location.hash.startsWith(HASH)) return false;
    location.hash.slice(HASH.length).split('&').forEach(function (part) {
      const both = part.split('=');
      const given = both[1] || '';
      if (both[0] !== 'rtt') put(both[0], given);
      else given.split(',').forEach(function (text, index) { put('rtt-' + index, text); });
    });
    show(true);
    return true;
  }

  let settling = 0;
  function moved(slider) {
    if (slider.name === 'rtt-all') {
      pairs.forEach(function (_, index) { put('rtt-' + index, String(slider.value)); });
    }
    show(false);
    clearTimeout(settling);
    // Browsers refuse more than some hundred changes of the address in half a minute.
    settling = setTimeout(function () { keep(); show(true); }, SETTLED_MS);
  }

  place.hidden = false;
  document.getElementById('foretold-p50').hidden = false;
  window.addEventListener('hashchange', goThere);
  if (goThere()) section.scrollIntoView();
  else show(true);
}());
