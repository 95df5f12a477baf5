// SPDX-License-Identifier: BSD-3-Clause
// The heat map of flag latency between cores: measured, or by distance from the table.

const kindText = {
  self: 'threads of one core',
  core: 'cores that share an L2',
  l3: 'cores that share an L3',
  numa: 'cores of one NUMA node',
  socket: 'NUMA nodes of one socket',
  node: 'sockets',
};

// Returns the distances at which the measured median differs from the value of the table by more than half.
const farFromTable = classes =>
  [...classes]
    .map(([name, ns]) => ({name, measured: d3.median(ns), table: machine.flag_ns[name]}))
    .filter(({measured, table}) => table > 0 && Math.max(measured / table, table / measured) > 1.5);

function heatMap(host) {
  const measured = machine.measured;
  const byCpu = new Map(machine.places.map(place => [place[PU], place]));
  const axis = measured ? measured.cpus.map(cpu => byCpu.get(cpu)).filter(place => place) : cores;
  const n = axis.length;
  host.append(el('h3', {}, 'Flag latency between cores'));
  if (n < 2 || (!measured && Object.keys(machine.flag_ns).length === 0))
    return host.append(
      el(
        'p',
        {},
        n < 2 ? 'One core: there is no other to measure to.' : 'Not known: run with --measure on the machine.',
      ),
    );
  const cell = axis.map(a => axis.map(b => (a === b ? undefined : flags.of(a, b))));
  const pairs = [];
  for (let i = 0; i < n; i++) for (let j = i + 1; j < n; j++) if (cell[i][j]) pairs.push({i, j, ...cell[i][j]});
  const real = measured ? pairs.filter(pair => pair.measured) : pairs;
  const far = real.reduce((a, b) => (b.ns > a.ns ? b : a)),
    near = real.reduce((a, b) => (b.ns < a.ns ? b : a));
  const pairText = ({i, j, ns}) =>
    `${coreName(axis[i])} and ${coreName(axis[j])}: ${nsText(ns)}, ${distanceText[distanceOf(axis[i], axis[j])]}`;
  const extremes =
    real.length > 1 ? `Farthest pair: ${pairText(far)}. Nearest pair: ${pairText(near)}.` : `Between ${pairText(far)}.`;
  // A single slow pair is judged against the median of pairs at the same distance.
  const typical = pair => {
    const kind = distanceOf(axis[pair.i], axis[pair.j]);
    const same = real.filter(other => distanceOf(axis[other.i], axis[other.j]) === kind);
    return `typical between ${kindText[kind]} ${nsText(d3.median(same, other => other.ns))}`;
  };
  const named = real.length > 1 ? `slowest pair: ${pairText(far)} (${typical(far)}). Nearest pair: ${pairText(near)} (${typical(near)}).` : extremes;
  glance.push({
    id: 'machine',
    text: measured
      ? `${named} Measured, one way.`
      : `${extremes.replace(/ pair:/g, ', for example:')} By the table, not measured.`,
  });
  host.append(
    measured
      ? el(
          'p.answer',
          {},
          `${extremes} Measured: ${countText(measured.measured)} of ` +
            `${countText(measured.pairs)} pairs in ${digits(measured.seconds)} s, one way, median.` +
            (measured.measured < measured.pairs ? ' Other pairs show the table’s value for their distance.' : ''),
        )
      : el(
          'p.answer',
          {},
          `${extremes.replace(/ pair:/g, ', for example:')} ` +
            'These are the table’s values by distance, not measurements of each pair; --measure measures them on the machine.',
        ),
  );

  const scale = latencyScale(pairs.map(pair => pair.ns));
  const canvas = el('canvas', {
    tabindex: 0,
    role: 'application',
    'aria-label': `Flag latency between ${n} cores as a heat map. Arrow keys move over the cells.`,
  });
  const frame = el('div.figure');
  // The largest domains that occur more than once; else the cores.
  const domain = [PACKAGE, NUMA, L3, CORE].find(level => new Set(axis.map(place => place[level])).size > 1);
  const left = 46,
    top = 20;
  let size = 4,
    at = [0, 1];

  function draw() {
    const side = Math.max(2, Math.min(64, Math.min(frame.clientWidth - left - 8, 620) / n));
    size = side >= 4 ? Math.floor(side * 10) / 10 : side;
    const ratio = devicePixelRatio || 1,
      [width, height] = [left + size * n + 4, top + size * n + 4];
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    const to = canvas.getContext('2d');
    to.scale(ratio, ratio);
    const gap = size > 8 ? 1 : 0;
    const colours = new Map();
    for (let i = 0; i < n; i++)
      for (let j = 0; j < n; j++) {
        const found = cell[i][j];
        if (found && !colours.has(found.ns)) colours.set(found.ns, heatColour(scale(found.ns)));
        to.fillStyle = found ? colours.get(found.ns) : resolved('--none');
        to.fillRect(left + j * size, top + i * size, size - gap + (gap ? 0 : 0.5), size - gap + (gap ? 0 : 0.5));
      }
    // Mark the edges of the largest domains with lines and names.
    to.fillStyle = resolved('--faint');
    to.strokeStyle = resolved('--ink');
    to.font = '11px system-ui, sans-serif';
    const word = {[PACKAGE]: 'pkg', [NUMA]: 'NUMA', [L3]: 'L3', [CORE]: 'core'}[domain];
    for (let i = 0, begin = 0; i <= n; i++) {
      if (i < n && axis[i][domain] === axis[begin][domain]) continue;
      if (i < n) {
        to.beginPath();
        to.moveTo(left + i * size, top), to.lineTo(left + i * size, top + n * size);
        to.moveTo(left, top + i * size), to.lineTo(left + n * size, top + i * size);
        to.lineWidth = size > 12 ? 1.5 : 0.8;
        to.stroke();
      }
      const text = axis[begin][domain] >= 0 ? `${word} ${axis[begin][domain]}` : '';
      to.textBaseline = 'middle';
      to.textAlign = 'center';
      if ((i - begin) * size > 40) to.fillText(text, left + ((begin + i) / 2) * size, top / 2);
      to.textAlign = 'right';
      if ((i - begin) * size > 11) to.fillText(text, left - 4, top + ((begin + i) / 2) * size);
      begin = i;
    }
    // Single cells among thousands are invisible without a mark.
    if (measured && real.length > 1 && size < 12)
      for (const {i, j} of [far, near])
        for (const [row, column] of [
          [i, j],
          [j, i],
        ]) {
          to.beginPath();
          to.arc(left + (column + 0.5) * size, top + (row + 0.5) * size, size / 2 + 5, 0, 2 * Math.PI);
          to.lineWidth = 2.5;
          to.strokeStyle = resolved('--mark');
          to.stroke();
        }
    if (size >= 34)
      for (let i = 0; i < n; i++)
        for (let j = 0; j < n; j++) {
          if (!cell[i][j]) continue;
          to.textAlign = 'center';
          to.fillStyle = scale(cell[i][j].ns) > 0.5 ? resolved('--on') : resolved('--ink');
          to.fillText(digits(cell[i][j].ns), left + (j + 0.5) * size, top + (i + 0.5) * size);
        }
    if (canvas.shown) {
      to.lineWidth = 2;
      to.strokeStyle = resolved('--accent');
      to.strokeRect(left + at[1] * size - 1, top + at[0] * size - 1, size + 2, size + 2);
    }
  }
  const text = ([i, j]) => {
    if (i === j) return `${coreName(axis[i])}\n${whereText(axis[i])}`;
    const found = cell[i][j];
    return (
      `${coreName(axis[i])} to ${coreName(axis[j])}\n` +
      (found ? `${nsText(found.ns)} one way, ${found.measured ? 'measured' : 'by the table'}; ` : '') +
      distanceText[distanceOf(axis[i], axis[j])]
    );
  };
  const show = byKey => {
    canvas.shown = true;
    if (byKey) draw();
    const box = canvas.getBoundingClientRect();
    showTip(text(at), box.left + left + at[1] * size, box.top + top + at[0] * size);
    if (byKey) say(text(at));
  };
  const leave = () => {
    hideTip();
    if (canvas.shown) (canvas.shown = false), draw();
  };
  cursorKeys(
    canvas,
    (dx, dy) => {
      at = [Math.max(0, Math.min(n - 1, at[0] + dy)), Math.max(0, Math.min(n - 1, at[1] + dx))];
    },
    show,
    leave,
  );
  canvas.addEventListener('pointermove', event => {
    const i = Math.floor((event.offsetY - top) / size),
      j = Math.floor((event.offsetX - left) / size);
    if (i < 0 || j < 0 || i >= n || j >= n) return leave();
    at = [i, j];
    return show(false);
  });
  canvas.addEventListener('pointerleave', leave);

  const ramp = el('span', {
    style:
      'display: inline-block; width: 8rem; height: .7rem; margin: 0 .5rem; ' +
      'background: linear-gradient(to right, var(--near), var(--far)); border: 1px solid var(--line)',
  });
  const beside = el('div.beside', {}, frame);
  host.append(beside);
  frame.append(scrolled(el('div.scroll', {}, canvas)));
  if (pairs.length > 1)
    frame.append(
      el(
        'p',
        {style: 'font-size: .88rem'},
        nsText(d3.min(pairs, p => p.ns)),
        ramp,
        nsText(d3.max(pairs, p => p.ns)),
        ' (logarithmic)',
        measured && real.length > 1 && n > 50 ? '. Circles: the farthest and the nearest pair.' : '.',
      ),
    );
  redraws.add(draw);
  whenSized(frame, draw);

  // A table by distance summarises thousands of cells.
  const classes = new Map();
  for (const pair of real) {
    const name = distanceOf(axis[pair.i], axis[pair.j]);
    if (!classes.has(name)) classes.set(name, []);
    classes.get(name).push(pair.ns);
  }
  const order = Object.keys(distanceText);
  if (measured)
    for (const {name, measured: ns, table: said} of farFromTable(classes))
      frame.before(
        el(
          'p.warning',
          {},
          `Between ${kindText[name]}, a flag takes ${nsText(ns)} as measured, but ${nsText(said)} in the table: ` +
            'prices of the model and choices that follow from them are of the table. Calibrate the machine: collctl calibrate.',
        ),
      );
  beside.append(
    table(
      [
        {title: 'The two cores are in', cell: ([name]) => distanceText[name]},
        {title: 'pairs', number: true, cell: ([, ns]) => countText(ns.length)},
        {title: 'median', number: true, cell: ([, ns]) => nsText(d3.median(ns))},
        ...(measured
          ? [
              {title: 'least', number: true, cell: ([, ns]) => nsText(d3.min(ns))},
              {title: 'most', number: true, cell: ([, ns]) => nsText(d3.max(ns))},
              {
                title: 'in the table',
                number: true,
                cell: ([name]) => (machine.flag_ns[name] ? nsText(machine.flag_ns[name]) : ''),
              },
            ]
          : []),
      ],
      [...classes].sort((a, b) => order.indexOf(a[0]) - order.indexOf(b[0])),
      'Flag latency by distance',
    ),
  );
  return undefined;
}
