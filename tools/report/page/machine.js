// SPDX-License-Identifier: BSD-3-Clause
// Section 1: the machine as nested boxes with its ranks. Pointing at a core colours the others by flag latency.
const machine = report.machine;

// Returns the flag latency between two processing units: measured for their cores, else that of the table for their
// distance.
const flags = (() => {
  const {measured, places} = machine;
  const n = measured ? measured.cpus.length : 0;
  const placeOf = new Map(places.map((place, at) => [place[PU], at]));
  const row = new Map(),
    coreRow = new Map();
  (measured ? measured.cpus : []).forEach((cpu, at) => {
    row.set(cpu, at);
    const place = places[placeOf.get(cpu)];
    if (place && place[CORE] >= 0) coreRow.set(place[CORE], at);
  });
  const rowOf = place => (row.has(place[PU]) ? row.get(place[PU]) : coreRow.get(place[CORE]));
  const between = (i, j) =>
    measured.flag_ns[
      Math.min(i, j) * n - (Math.min(i, j) * (Math.min(i, j) + 1)) / 2 + Math.max(i, j) - Math.min(i, j) - 1
    ];
  return {
    measured: measured !== null,
    between,
    // Returns {ns, measured}, or undefined if nothing is known.
    of(a, b) {
      const [i, j] = [rowOf(a), rowOf(b)];
      if (measured && i !== undefined && j !== undefined && i !== j && between(i, j) !== null)
        return {ns: between(i, j), measured: true};
      const ns = machine.flag_ns[distanceOf(a, b)];
      return ns === undefined ? undefined : {ns, measured: false};
    },
  };
})();

// Returns one place for each core, in the order of the topology.
const cores = (() => {
  const seen = new Set();
  return machine.places.filter(place => {
    if (place[CORE] < 0) return true;
    if (seen.has(place[CORE])) return false;
    seen.add(place[CORE]);
    return true;
  });
})();
const ranksAt = (() => {
  const made = new Map();
  machine.ranks.forEach((at, rank) => {
    if (at < 0) return;
    const place = machine.places[at],
      core = place[CORE] < 0 ? `p${place[PU]}` : place[CORE];
    if (!made.has(core)) made.set(core, []);
    made.get(core).push(rank);
  });
  return place => made.get(place[CORE] < 0 ? `p${place[PU]}` : place[CORE]) || [];
})();
// Shortens a text to its box; the title of the box has the whole text.
const shortNumbers = ranks => (ranks.length > 3 ? `${ranks[0]}… (${ranks.length})` : numbersText(ranks));
const coreName = place => {
  const ranks = ranksAt(place);
  return (
    `core ${place[CORE] < 0 ? place[PU] : place[CORE]}` +
    (ranks.length > 0 ? ` (rank${ranks.length > 1 ? 's' : ''} ${shortNumbers(ranks)})` : '')
  );
};
const whereText = place =>
  [
    ['package', PACKAGE],
    ['NUMA node', NUMA],
    ['L3', L3],
    ['CPU', PU],
  ]
    .filter(([, level]) => place[level] >= 0)
    .map(([word, level]) => `${word} ${place[level]}`)
    .join(', ');

const latencyScale = values => {
  const [low, high] = d3.extent(values);
  return ns => (high > low ? Math.log(ns / low) / Math.log(high / low) : 0);
};
const heatColour = share => d3.interpolateRgb(resolved('--near'), resolved('--far'))(share);

function topology(host) {
  const levels = [
    ['package', PACKAGE, 'Package'],
    ['numa', NUMA, 'NUMA node'],
    ['l3', L3, 'L3'],
  ];
  const cacheText = level =>
    level === L3 && machine.caches.l3.bytes > 0 ? ` (${bytesText(machine.caches.l3.bytes)})` : '';
  const boxes = [];
  const nest = (places, depth) => {
    if (depth === levels.length)
      return el(
        'ul',
        {},
        places.map(place => {
          const ranks = ranksAt(place);
          const box = el(
            ranks.length > 0 ? 'li.core.used' : 'li.core',
            {},
            el(
              'button',
              {
                type: 'button',
                tabindex: boxes.length === 0 ? 0 : -1,
                'aria-label': `${coreName(place)}, ${whereText(place)}`,
              },
              `${place[CORE] < 0 ? place[PU] : place[CORE]}`,
            ),
            ranks.length > 0 ? el('span.rank', {}, shortNumbers(ranks)) : null,
          );
          boxes.push({place, box, button: box.firstChild});
          return box;
        }),
      );
    const [name, level, title] = levels[depth];
    const groups = new Map();
    for (const place of places) {
      if (!groups.has(place[level])) groups.set(place[level], []);
      groups.get(place[level]).push(place);
    }
    // A level that the machine lacks, or an L3 that equals its NUMA node, gets no box.
    if (groups.has(-1)) return nest(places, depth + 1);
    return el(
      'ul',
      {},
      [...groups].map(([number, inside]) =>
        el(`li.${name}`, {}, el('span', {}, `${title} ${number}${cacheText(level)}`), nest(inside, depth + 1)),
      ),
    );
  };
  const legend = el('p.faint', {}, 'Small number: core. Bold, green: rank. ', boxesHint());
  const result = el('p', {style: 'min-height: 1.6em'}, '');
  const drawn = el('div.topology', {role: 'group', 'aria-label': 'Topology of the machine'}, nest(cores, 0));
  const known = boxes
    .flatMap(({place}) => boxes.filter(other => other.place !== place).map(other => flags.of(place, other.place)))
    .filter(found => found)
    .map(found => found.ns);
  const scale = latencyScale(known);

  function colourFrom(from) {
    let [near, far] = [null, null];
    for (const {place, box} of boxes) {
      const found = place === from ? undefined : flags.of(from, place);
      const share = found ? scale(found.ns) : 0;
      box.style.background = place === from ? 'var(--accent)' : found ? heatColour(share) : '';
      box.style.color = place === from || share > 0.5 ? 'var(--on)' : 'var(--ink)';
      for (const text of box.children) text.style.color = 'inherit';
      if (found && (!near || found.ns < near.ns)) near = {...found, place};
      if (found && (!far || found.ns > far.ns)) far = {...found, place};
    }
    const source = near && near.measured ? 'measured' : 'by the table';
    result.textContent = near
      ? `From ${coreName(from)}: nearest ${coreName(near.place)}, ${nsText(near.ns)}; farthest ${coreName(far.place)}, ${nsText(far.ns)} (${source}).`
      : `${coreName(from)}: ${whereText(from)}.`;
  }
  function plain() {
    for (const {box} of boxes) {
      box.style.background = box.style.color = '';
      for (const text of box.children) text.style.color = '';
    }
    result.textContent = '';
  }
  boxes.forEach(({place, box, button}, at) => {
    box.addEventListener('pointerenter', () => colourFrom(place));
    box.addEventListener('pointerleave', () => {
      if (document.activeElement.parentElement !== box) plain();
    });
    button.addEventListener('focus', () => {
      colourFrom(place);
      say(result.textContent);
    });
    button.addEventListener('blur', plain);
    button.addEventListener('keydown', event => {
      const step = {ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1}[event.key];
      if (!step) return;
      event.preventDefault();
      const next = boxes[(at + step + boxes.length) % boxes.length].button;
      button.tabIndex = -1;
      next.tabIndex = 0;
      next.focus();
    });
  });
  host.append(legend, drawn, result);
}
function boxesHint() {
  return flags.measured || Object.keys(machine.flag_ns).length > 0
    ? 'Point at a core, or move there with Tab and the arrow keys: the others take the colour of their flag latency from it: the farther, the more they stand out from the page.'
    : '';
}

function bandwidth(host) {
  const order = ['core', 'l3', 'numa', 'socket', 'node'];
  const words = {core: 'same L2', l3: 'same L3', numa: 'same NUMA', socket: 'same socket', node: 'other socket'};
  const present = order.filter(name => machine.access.some(access => access.bandwidth_gbs[name] !== undefined));
  const gbs = value => `${digits(value)} GB/s`;
  const charts = el('div.multiples');
  // With one distance there is no curve, and its points overlap.
  if (present.length === 1)
    charts.append(
      table(
        [
          {title: `Copies from a peer, ${words[present[0]]}`, cell: access => access.mechanism},
          {title: 'bandwidth', number: true, cell: access => gbs(access.bandwidth_gbs[present[0]])},
          {title: 'startup', number: true, cell: access => usText(access.startup_us[present[0]] || 0)},
        ],
        machine.access.filter(access => access.bandwidth_gbs[present[0]] !== undefined),
        'Copy bandwidth of one process',
      ),
    );
  if (present.length > 1)
    charts.append(
      curveChart({
        label: 'Copy bandwidth of one process, by distance of the source',
        x: {kind: 'name', names: present.map(name => words[name]), label: 'distance'},
        y: {label: 'Copy bandwidth of one process, by distance of the source, GB/s', text: gbs},
        series: machine.access.map((access, at) => ({
          name: access.mechanism,
          colour: `var(--c${at})`,
          points: present
            .filter(name => access.bandwidth_gbs[name] !== undefined)
            .map(name => ({
              x: words[name],
              y: access.bandwidth_gbs[name],
              note: `startup ${usText(access.startup_us[name] || 0)}`,
            })),
        })),
      }),
    );
  const rates = [
    ['load_gbs', 'load own data'],
    ['store_gbs', 'store own data'],
    ['fetch_gbs', 'load what a peer wrote'],
    ['take_gbs', 'store what a peer read'],
    ['kernel_gbs', 'CMA copy'],
  ];
  if (machine.footprints.length > 1)
    charts.append(
      curveChart({
        label: 'Bandwidth of each core while all cores do the same, by memory touched',
        x: {kind: 'bytes', label: 'memory that a core touches again and again'},
        y: {label: 'Bandwidth of each core while all do the same, GB/s', text: gbs, log: true},
        series: rates
          .map(([name, title], at) => ({
            name: title,
            colour: `var(--c${at})`,
            points: machine.footprints.filter(at => at[name] > 0).map(at => ({x: at.bytes, y: at[name]})),
          }))
          .filter(one => one.points.length > 0),
      }),
    );
  if (charts.children.length > 0) host.append(el('h3', {}, 'Copy bandwidth'), charts);
  const links = [
    ['l3_gbs', 'out of one L3'],
    ['memory_gbs', 'from and to the memory of one NUMA node'],
    ['numa_gbs', 'out of one NUMA node'],
    ['socket_gbs', 'out of one socket'],
  ].filter(([name]) => machine.links[name] > 0);
  if (links.length > 0)
    host.append(
      el(
        'p',
        {},
        `All ranks together copy at most: ${links.map(([name, word]) => `${gbs(machine.links[name])} ${word}`).join(', ')}.`,
      ),
    );
}

sections.push({
  id: 'machine',
  title: 'Machine',
  draw(host) {
    const {caches} = machine;
    const cacheText = [
      ['L1d', caches.l1d],
      ['L2', caches.l2],
      ['L3', caches.l3],
    ]
      .filter(([, cache]) => cache.bytes > 0)
      .map(([name, cache]) => `${name} ${bytesText(cache.bytes)}${cache.instances > 0 ? ` × ${cache.instances}` : ''}`)
      .join(', ');
    // The values of the table that come neither from a measurement nor from a publication.
    const estimates = machine.notes.filter(note => /^estimate/.test(note.text));
    host.append(
      facts([
        ['Machine', machine.summary],
        ['Processor', machine.processor],
        ['Caches', cacheText],
        ['Ranks', machine.hierarchy],
        ['Costs from', machine.origin],
        [
          'Estimates in it',
          estimates
            .map(({about, text}) => `${about === 'others' ? 'all other numbers' : about}: ${text.replace(/^estimates?: /, '')}`)
            .join('; '),
        ],
        ['Note', machine.note],
      ]),
    );
    host.append(el('h3', {}, 'Topology'));
    topology(host);
    heatMap(host);
    bandwidth(host);
    contention(host);
    if (machine.notes.length > 0)
      host.append(
        el(
          'details',
          {},
          el('summary', {}, 'Sources of the table’s numbers'),
          facts(machine.notes.map(note => [note.about, note.text])),
        ),
      );
  },
});
