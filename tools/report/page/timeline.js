// SPDX-License-Identifier: BSD-3-Clause
// Section 4: one operation of all ranks over time, and the same steps in units of work, as the plan orders them.
const kindColours = {
  copy: 'var(--c0)',
  reduce: 'var(--c2)',
  wait: 'var(--c1)',
  publish: 'var(--c4)',
  post: 'var(--c7)',
};
const [ROW, KIND, BEGIN, LENGTH, WORD, PASS, BYTES] = [0, 1, 2, 3, 4, 5, 6];

// Places steps with lengths in proportion to their bytes: a step follows the last one of its lane, and a wait the posts
// that end it. It shows which rank waits for which, without delays of the machine.
function inUnits(line) {
  const most = d3.max(line.slices, slice => slice[BYTES]) || 1;
  const order = line.slices
    .map((slice, at) => at)
    .sort((a, b) => line.slices[a][BEGIN] + line.slices[a][LENGTH] - line.slices[b][BEGIN] - line.slices[b][LENGTH]);
  const end = new Array(line.rows.length).fill(0),
    slices = new Array(line.slices.length),
    ends = line.rows.map(() => []);
  const arrivals = line.rows.map(() => []);
  for (const arrow of line.arrows) arrivals[arrow[2]].push(arrow);
  arrivals.forEach(list => list.sort((a, b) => a[3] - b[3]));
  const taken = line.rows.map(() => 0),
    arrows = [];
  // Returns when a row had finished its steps up to `us`, in units.
  const doneAt = (row, us) => {
    const list = ends[row];
    const at = d3.bisector(step => step[0]).right(list, us + 1e-6);
    return at > 0 ? list[at - 1][1] : 0;
  };
  for (const at of order) {
    const slice = line.slices[at],
      row = slice[ROW];
    let begin = end[row];
    const isWait = line.kinds[slice[KIND]] === 'wait',
      until = slice[BEGIN] + slice[LENGTH] + 1e-6;
    const met = [];
    while (taken[row] < arrivals[row].length && arrivals[row][taken[row]][3] <= until)
      met.push(arrivals[row][taken[row]++]);
    let to = begin + (isWait ? 0 : slice[BYTES] > 0 ? Math.max(0.1, slice[BYTES] / most) : 0.25);
    for (const [from, us] of met) {
      const posted = doneAt(from, us);
      if (posted + 0.25 > to) to = posted + 0.25;
      arrows.push([from, posted, row, Math.max(to, posted + 0.25)]);
    }
    slices[at] = [...slice];
    slices[at][BEGIN] = begin;
    slices[at][LENGTH] = to - begin;
    end[row] = to;
    ends[row].push([slice[BEGIN] + slice[LENGTH], to]);
  }
  return {...line, slices, arrows, end_us: d3.max(end) || 1};
}

const perfetto = 'https://ui.perfetto.dev';

// The steps that the report has, in the trace event format of Chrome.
function traceEvents(line) {
  const thread = (row, name) => ({ph: 'M', name: 'thread_name', pid: 1, tid: row, args: {name}});
  return [
    {ph: 'M', name: 'process_name', pid: 1, args: {name: line.name || line.file}},
    ...line.rows.map((name, row) => thread(row, name)),
    ...line.slices.map(slice => ({
      ph: 'X',
      name: line.kinds[slice[KIND]],
      pid: 1,
      tid: slice[ROW],
      ts: slice[BEGIN],
      dur: slice[LENGTH],
      args: {step: line.words[slice[WORD]], pass: slice[PASS], bytes: slice[BYTES]},
    })),
    ...line.arrows.flatMap(([from, posted, to, met], id) => [
      {ph: 's', name: 'post', cat: 'post', id, pid: 1, tid: from, ts: posted},
      {ph: 'f', bp: 'e', name: 'post', cat: 'post', id, pid: 1, tid: to, ts: met},
    ]),
  ];
}

// Perfetto accepts a trace by a message after it has answered PING with PONG: a local file has no address that it could
// load.
function showInPerfetto(line) {
  const opened = window.open(perfetto);
  if (!opened) return;
  const asking = setInterval(() => opened.postMessage('PING', perfetto), 100);
  const answered = event => {
    if (event.source !== opened || event.origin !== perfetto || event.data !== 'PONG') return;
    clearInterval(asking);
    window.removeEventListener('message', answered);
    const buffer = new TextEncoder().encode(JSON.stringify({traceEvents: traceEvents(line)})).buffer;
    opened.postMessage({perfetto: {buffer, title: line.name || line.file, fileName: line.file}}, perfetto);
  };
  window.addEventListener('message', answered);
  setTimeout(() => clearInterval(asking), 60000);
}

// A rank is one processor: with many ranks, all lanes of a rank share a row.
const rankName = name => name.replace(/ lane \d+$/, '');
const calledOf = line => (line.rows.length > 48 ? line.rows.map(rankName) : line.rows);
function rowNames(line) {
  const called = calledOf(line),
    used = new Set(line.slices.map(slice => called[slice[ROW]]));
  return [...new Set(called)].filter(name => used.has(name));
}
const heightOf = rows => Math.max(4, Math.min(22, Math.floor(620 / rows)));

// A canvas with one row per lane, and zoom along the time.
function lanes(host, line, {label, text, unit, path}) {
  const frame = el('div.figure'),
    canvas = el('canvas', {
      tabindex: 0,
      role: 'application',
      'aria-label': `${label}. Left and right: steps of a lane; up and down: lanes; plus and minus: zoom; 0: all.`,
    });
  const called = calledOf(line),
    names = rowNames(line);
  const rowOf = called.map(name => names.indexOf(name));
  const rows = names.length,
    left = 92,
    top = 22;
  const high = heightOf(rows);
  const byRow = names.map(() => []);
  const isWait = slice => line.kinds[slice[KIND]] === 'wait';
  const drawn = [...line.slices.filter(isWait), ...line.slices.filter(slice => !isWait(slice))];
  line.slices.forEach(slice => byRow[rowOf[slice[ROW]]].push(slice));
  byRow.forEach(list => list.sort((a, b) => a[BEGIN] - b[BEGIN]));
  const base = d3.scaleLinear().domain([0, line.end_us]);
  let scale = base,
    width = 0,
    at = [0, 0],
    shown = false,
    pathShown = Boolean(path);

  function draw() {
    const ratio = devicePixelRatio || 1,
      height = top + rows * high + 4;
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    const to = canvas.getContext('2d');
    to.scale(ratio, ratio);
    to.font = '11px system-ui, sans-serif';
    to.textBaseline = 'middle';
    const [ink, faint, grid] = ['--ink', '--faint', '--grid'].map(resolved);
    to.textAlign = 'center';
    for (const tick of scale.ticks(Math.max(2, Math.floor(width / 90)))) {
      to.fillStyle = faint;
      to.fillText(unit(tick), Math.min(scale(tick), width - 24), top / 2 - 2);
      to.fillStyle = grid;
      to.fillRect(scale(tick), top - 4, 1, height);
    }
    to.textAlign = 'right';
    to.fillStyle = faint;
    const every = Math.ceil(13 / high);
    names.forEach((name, row) => {
      if (row % every === 0) to.fillText(name.replace(/ lane 0$/, ''), left - 6, top + (row + 0.5) * high);
    });
    to.save();
    to.beginPath();
    to.rect(left, top - 4, width - left, height);
    to.clip();
    const colours = line.kinds.map(kind => resolved((kindColours[kind] || 'var(--c7)').slice(4, -1)));
    const thick = Math.max(2, high - (high > 8 ? 3 : 1));
    for (const slice of drawn) {
      const x0 = scale(slice[BEGIN]),
        x1 = scale(slice[BEGIN] + slice[LENGTH]);
      if (x1 < left || x0 > width) continue;
      const waits = isWait(slice);
      to.globalAlpha = (waits ? waitAlpha(high) : 1) * (pathShown ? besidePath : 1);
      to.fillStyle = colours[slice[KIND]];
      const inset = waits ? thick / 4 : 0;
      to.fillRect(
        x0,
        top + rowOf[slice[ROW]] * high + inset,
        Math.max(0.7, x1 - x0 - (x1 - x0 > 3 ? 0.6 : 0)),
        thick - 2 * inset,
      );
    }
    to.globalAlpha = 1;
    if (pathShown) drawPath(to, line, path.hops, {x: us => scale(us), y: row => top + rowOf[row] * high, thick, colours});
    const chosen = shown ? byRow[at[0]][at[1]] : null;
    const visible = line.arrows.filter(
      arrow => rowOf[arrow[0]] >= 0 && rowOf[arrow[2]] >= 0 && scale(arrow[3]) >= left && scale(arrow[1]) <= width,
    );
    // Hundreds of lines are unreadable: draw only those of the selected step.
    const few = visible.length <= 150;
    to.strokeStyle = to.fillStyle = ink;
    to.globalAlpha = pathShown ? 0.35 : 0.6;
    to.lineWidth = 0.9;
    for (const arrow of visible) if (few || (chosen && touches(arrow, chosen))) drawArrow(to, arrow, thick);
    to.globalAlpha = 1;
    const slice = chosen;
    if (slice) {
      to.strokeStyle = ink;
      to.lineWidth = 2;
      to.strokeRect(
        scale(slice[BEGIN]) - 1,
        top + at[0] * high - 1,
        Math.max(3, scale(slice[BEGIN] + slice[LENGTH]) - scale(slice[BEGIN])) + 2,
        thick + 2,
      );
    }
    to.restore();
  }

  // Returns whether a line starts at the end of the step, or ends in it.
  const touches = ([from, begin, row, end], slice) => {
    const [a, b] = [slice[BEGIN], slice[BEGIN] + slice[LENGTH]],
      slack = line.end_us / 500;
    return (
      (from === slice[ROW] && begin >= a && begin <= b + slack) || (row === slice[ROW] && end >= a && end <= b + slack)
    );
  };
  function drawArrow(to, [from, begin, row, end], thick) {
    const x0 = scale(begin),
      x1 = scale(end);
    const [y0, y1] = [from, row].map(lane => top + rowOf[lane] * high + thick / 2);
    to.beginPath();
    to.moveTo(x0, y0), to.lineTo(x1, y1);
    to.stroke();
    if (high < 8) return;
    const angle = Math.atan2(y1 - y0, x1 - x0);
    to.beginPath();
    to.moveTo(x1, y1);
    for (const side of [0.4, -0.4]) to.lineTo(x1 - 6 * Math.cos(angle + side), y1 - 6 * Math.sin(angle + side));
    to.fill();
  }

  const show = byKey => {
    const slice = byRow[at[0]][at[1]];
    if (!slice) return;
    shown = true;
    if (byKey && (scale(slice[BEGIN]) < left || scale(slice[BEGIN]) > width)) {
      // Scrolls the step into view.
      const [a, b] = scale.domain(),
        half = (b - a) / 2;
      zoomTo(slice[BEGIN] + slice[LENGTH] / 2 - half, b - a);
    }
    draw();
    const box = canvas.getBoundingClientRect();
    showTip(text(line, slice), box.left + Math.max(left, scale(slice[BEGIN])), box.top + top + (at[0] + 1) * high);
    if (byKey) say(text(line, slice));
  };
  const leave = () => {
    hideTip();
    if (shown) (shown = false), draw();
  };
  const zoom = d3
    .zoom()
    .scaleExtent([1, 5000])
    .filter(
      () =>
        !d3.event.ctrlKey &&
        !d3.event.button &&
        (d3.event.type !== 'wheel' || d3.event.shiftKey || document.activeElement === canvas),
    )
    .on('zoom', () => {
      scale = d3.event.transform.rescaleX(base);
      hideTip();
      draw();
    });
  function zoomTo(begin, length) {
    const k = Math.max(1, Math.min(5000, line.end_us / length));
    d3.select(canvas).call(
      zoom.transform,
      d3.zoomIdentity
        .translate(left, 0)
        .scale(k)
        .translate(-left - (base(Math.max(0, begin)) - left), 0),
    );
  }
  d3.select(canvas).call(zoom).on('dblclick.zoom', null);
  const zoomBy = factor => {
    const [a, b] = scale.domain(),
      slice = shown && byRow[at[0]][at[1]];
    const middle = slice ? slice[BEGIN] : (a + b) / 2,
      length = (b - a) / factor;
    zoomTo(Math.max(0, Math.min(line.end_us - length, middle - length / 2)), length);
  };
  cursorKeys(
    canvas,
    (dx, dy) => {
      const before = byRow[at[0]][at[1]];
      if (dy !== 0) {
        at[0] = Math.max(0, Math.min(rows - 1, at[0] + dy));
        if (before) at[1] = Math.max(0, d3.bisector(slice => slice[BEGIN]).right(byRow[at[0]], before[BEGIN]) - 1);
      } else at[1] = Math.max(0, Math.min(byRow[at[0]].length - 1, at[1] + dx));
    },
    show,
    leave,
  );
  canvas.addEventListener('keydown', event => {
    if (event.key === '+' || event.key === '=') zoomBy(2);
    if (event.key === '-') zoomBy(0.5);
    if (event.key === '0') zoomTo(0, line.end_us);
  });
  canvas.addEventListener('pointermove', event => {
    const row = Math.floor((event.offsetY - top) / high);
    if (row < 0 || row >= rows || event.offsetX < left || event.buttons) return event.buttons ? undefined : leave();
    const us = scale.invert(event.offsetX),
      list = byRow[row];
    // The bar that is drawn last is on top.
    let found = -1;
    for (
      let i = d3.bisector(slice => slice[BEGIN]).right(list, us) - 1;
      i >= 0 && (found < 0 || isWait(list[found]));
      i--
    )
      if (scale(list[i][BEGIN] + list[i][LENGTH]) >= event.offsetX - 3 && (found < 0 || !isWait(list[i]))) found = i;
    if (found < 0) return leave();
    at = [row, found];
    return show(false);
  });
  canvas.addEventListener('pointerleave', leave);
  frame.append(
    canvas,
    el(
      'p.no-print',
      {},
      ...[
        ['Zoom in', 2],
        ['Zoom out', 0.5],
      ].map(([name, factor]) =>
        el('button', {type: 'button', style: 'margin-right: .4rem', onclick: () => zoomBy(factor)}, name),
      ),
      el('button', {type: 'button', style: 'margin-right: .4rem', onclick: () => zoomTo(0, line.end_us)}, 'All'),
      path ? pathButton(on => ((pathShown = on), draw())) : '',
    ),
  );
  host.append(frame);
  redraws.add(draw);
  whenSized(frame, next => {
    width = next;
    base.range([left, width - 6]);
    zoom
      .extent([
        [left, 0],
        [width - 6, 100],
      ])
      .translateExtent([
        [left, 0],
        [width - 6, 100],
      ]);
    scale = d3.zoomTransform(canvas).rescaleX(base);
    draw();
  });
}

// Returns the mean time per rank for each kind of step, and the lane that ends last.
function timelineAnswer(line) {
  const rankOf = slice => rankName(line.rows[slice[ROW]]);
  const work = line.slices.filter(slice => line.kinds[slice[KIND]] !== 'wait');
  const add = list => d3.sum(list, slice => slice[LENGTH]);
  const byKind = d3
    .nest()
    .key(slice => line.kinds[slice[KIND]])
    .rollup(add)
    .entries(work)
    .sort((a, b) => b.value - a.value);
  const ranks = new Set(line.slices.map(rankOf)).size;
  const last = line.slices.reduce((a, b) => (b[BEGIN] + b[LENGTH] > a[BEGIN] + a[LENGTH] ? b : a));
  const busiest = d3
    .nest()
    .key(rankOf)
    .rollup(add)
    .entries(work)
    .reduce((a, b) => (b.value > a.value ? b : a), {value: 0});
  const idle = line.end_us - add(work) / ranks;
  return (
    `${line.recorded > line.slices.length ? 'Of the steps that are shown: ' : ''}${usText(line.end_us)} from the start of the first rank to the end of the last. In the mean, a rank spends ` +
    `${byKind.map(({key: kind, value}) => `${usText(value / ranks)} in ${kind} steps`).join(', ')} and waits for ${usText(Math.max(0, idle))}. ` +
    `Last to end: ${rankOf(last)}. ` +
    (busiest.key ? `Busiest: ${busiest.key}, ${usText(busiest.value)}.` : '')
  );
}

// Waits are pale and, in high rows, thinner.
const waitAlpha = high => (high < 8 ? 0.25 : 0.45);
function waitKey(line) {
  return el(
    'span.key',
    {},
    el('span.swatch', {
      style: `background: ${kindColours.wait}; height: .32rem; opacity: ${waitAlpha(heightOf(rowNames(line).length))}`,
    }),
    'wait',
  );
}

// Returns one line: the mean over the ranks of the time that is not work.
function timelineGlance(line) {
  const work = line.slices.filter(slice => line.kinds[slice[KIND]] !== 'wait');
  const ranks = new Set(line.slices.map(slice => rankName(line.rows[slice[ROW]]))).size;
  const idle = Math.max(0, line.end_us - d3.sum(work, slice => slice[LENGTH]) / ranks);
  return (
    `${line.name.split(' ').slice(0, 2).join(' ')} (${originText(line)}) takes ${usText(line.end_us)}; ` +
    `in the mean, a rank waits for ${usText(idle)} of that, ${percent(idle / line.end_us)}.`
  );
}

// Returns the origin of the timeline, as far as its file names it.
function originText(line) {
  const ranks = new Set(line.rows.map(rankName)).size;
  return (
    `${line.origin || 'simulated or recorded (the file does not say)'}, ${line.bytes ? `${bytesText(line.bytes)} among ` : ''}` +
    `${countText(ranks)} ranks${line.machine ? ` ${line.origin === 'recorded' ? 'on' : 'of'} ${line.machine}` : ''}` +
    `${line.transport ? `, transport ${line.transport}` : ''}`
  );
}

sections.push({
  id: 'timeline',
  title: 'One operation in time',
  draw(host) {
    if (report.timelines.length === 0)
      return host.append(
        el(
          'p',
          {},
          'No timeline. Record one operation with ',
          el('code', {}, 'collctl bench allreduce -n 4 --sizes 256K --trace trace.json'),
          ' or simulate it with ',
          el('code', {}, 'collctl simulate … --trace trace.json'),
          ' and give the file to ',
          el('code', {}, '--trace'),
          '.',
        ),
      );
    const slots = (line, slice) =>
      `${line.rows[slice[ROW]]}: ${line.words[slice[WORD]] || line.kinds[slice[KIND]]}` +
      (slice[BYTES] > 0 ? `\n${bytesText(slice[BYTES])}` : '') +
      (slice[PASS] > 0 ? `\npass ${slice[PASS]}` : '');
    for (const [at, line] of report.timelines.entries()) {
      if (at === 0) glance.push({id: 'timeline', text: timelineGlance(line)});
      host.append(
        el(`h3#timeline-${at}`, {}, `${line.name || line.file}: ${originText(line)}`),
        el('p.answer', {}, timelineAnswer(line)),
        el(
          'p',
          {},
          Object.entries(kindColours)
            .filter(([kind]) => line.kinds.includes(kind))
            .map(([kind, colour]) => (kind === 'wait' ? waitKey(line) : key(colour, kind))),
          'Where a row is empty, the rank waits, too. Lines: from a post to the wait that it ends; where there are many, ' +
            'those of the step under the cursor.',
        ),
        pathAnswer(line),
      );
      if (line.recorded > line.slices.length)
        host.append(
          el('p', {}, `The first ${countText(line.slices.length)} of ${countText(line.recorded)} steps are shown.`),
        );
      const onPath = new Set(hopsOf(line).map(hop => line.slices[hop[HOP_STEP]]));
      lanes(host, line, {
        label: `Timeline of ${line.name}`,
        unit: usText,
        text: (of, slice) =>
          `${slots(of, slice)}\n${usText(slice[LENGTH])} from ${usText(slice[BEGIN])}${onPath.has(slice) ? ', on the critical path' : ''}`,
        path: hopsOf(line).length > 0 ? line.path : null,
      });
      pathTable(host, line);
      host.append(
        el('h4', {}, 'The plan: the same steps, as long as their bytes'),
        el(
          'p.faint',
          {},
          'It shows the order that the plan imposes: which rank waits for which, and what can overlap. One unit is the step with the most bytes.',
        ),
      );
      lanes(host, inUnits(line), {label: `Plan of ${line.name}, in units`, unit: value => digits(value), text: slots});
      host.append(
        el(
          'p.no-print',
          {},
          el('button', {onclick: () => showInPerfetto(line)}, 'Open these steps in Perfetto'),
          ' hands them to a window of ',
          el('a', {href: perfetto, rel: 'noreferrer'}, 'ui.perfetto.dev'),
          ', which is loaded from the network; they stay in the browser. ',
          line.recorded > line.slices.length ? 'It opens the file ' : 'It also opens the file ',
          el('code', {}, line.file),
          line.recorded > line.slices.length ? ', which has all steps.' : '.',
        ),
      );
    }
    return undefined;
  },
});
