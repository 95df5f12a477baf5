// SPDX-License-Identifier: BSD-3-Clause
// Section 5: recorded benchmarks: curves of every library with their spread, ratios, and the records of
// docs/measurements.
const libraryColour = (() => {
  const ours = ['var(--c2)', 'var(--c9)', 'var(--c14)'],
    theirs = ['var(--c1)', 'var(--c4)', 'var(--c3)', 'var(--c5)', 'var(--c6)', 'var(--c11)'];
  const seen = new Map(),
    counts = [0, 0];
  return who => {
    if (!seen.has(who.name)) seen.set(who.name, who.ours ? ours[counts[0]++ % 3] : theirs[counts[1]++ % 6]);
    return seen.get(who.name);
  };
})();

// Returns whether a result is from the machine of the machine section, as far as processor and topology are known.
function whereMeasured(of) {
  if (!of || !(of.processor || of.topology || of.cpus))
    return el('p', {}, 'The file does not say on which machine this was measured; it may be another one than in the section Machine.');
  const plain = text => text.trim().replace(/\s+/g, ' ');
  const cpus = machine.places.length;
  const differences = [
    of.processor && machine.processor && plain(of.processor) !== plain(machine.processor)
      ? `${plain(of.processor)}, not ${plain(machine.processor)}`
      : '',
    of.topology
      ? of.topology !== machine.summary && `${of.topology}, not ${machine.summary}`
      : of.cpus > 0 && of.cpus !== cpus && `${countText(of.cpus)} CPUs, not ${countText(cpus)}`,
  ].filter(text => text);
  if (differences.length > 0)
    return el('p.warning', {}, `Measured on another machine than in the section Machine: ${differences.join('; ')}.`);
  if (of.processor && machine.processor) return '';
  const unnamed = of.processor ? 'the section Machine' : 'the file';
  return el('p', {}, `It may be of another machine than in the section Machine: ${unnamed} does not name the processor.`);
}

function curves(host, bench) {
  const {points, contestants} = bench;
  const ours = contestants.filter(who => who.ours),
    baselines = contestants.filter(who => !who.ours && !who.bound);
  const collectives = [...new Set(points.map(point => point.collective))];
  const byKey = new Map(points.map(point => [`${point.collective} ${point.bytes} ${point.contestant}`, point]));
  const fastest = (collective, bytes) => {
    const found = baselines.map(who => byKey.get(`${collective} ${bytes} ${who.name}`)).filter(point => point);
    return found.length > 0 ? found.reduce((a, b) => (b.median_us < a.median_us ? b : a)) : null;
  };
  const off = new Set(),
    titleOf = new Map(contestants.map(who => [who.name, who.title]));
  const panels = el('div.multiples');
  const note = (series, point) => {
    const best = fastest(point.of.collective, point.of.bytes);
    if (!best) return `${point.of.samples} samples`;
    const ratio = best.median_us / point.of.median_us;
    return `${best.contestant === point.of.contestant ? 'fastest baseline' : `fastest baseline (${titleOf.get(best.contestant)}) takes ${times(ratio)}`}; ${point.of.samples} samples`;
  };
  function draw(mode) {
    panels.replaceChildren();
    for (const collective of collectives) {
      const of = points.filter(point => point.collective === collective).sort((a, b) => a.bytes - b.bytes);
      // A barrier has no size.
      const sized = of.some(point => point.bytes > 0);
      const at = point => (sized ? point.bytes || 1 : collective);
      const gains = mode === 'Gain over the fastest baseline';
      const series = (gains ? ours : contestants).map(who => ({
        name: who.title,
        colour: libraryColour(who),
        off: off.has(who.name),
        thin: false,
        points: of
          .filter(point => point.contestant === who.name)
          .map(point => {
            const best = gains ? fastest(collective, point.bytes) : null;
            if (gains && !best) return null;
            return gains
              ? {x: at(point), y: best.median_us / point.median_us, of: point}
              : {x: at(point), y: point.median_us, low: point.low_us, high: point.high_us, of: point};
          })
          .filter(point => point),
      }));
      if (series.every(one => one.points.length === 0)) continue;
      panels.append(
        el(
          'div',
          {},
          el('h4', {style: 'margin: .8rem 0 0'}, collective),
          curveChart({
            label: `${collective}: ${mode}`,
            noLegend: true,
            x: sized ? {kind: 'bytes', label: 'bytes'} : {kind: 'name', names: [collective], label: ''},
            y: gains
              ? {label: 'fastest baseline / libcoll: above 1, libcoll is faster', text: times, log: true, mark: 1}
              : {label: 'median time', text: usText, log: true},
            series,
            note,
          }),
        ),
      );
    }
  }
  const legend = el('ul.legend', {'aria-label': 'Libraries'});
  let mode = 'Time';
  for (const who of contestants)
    legend.append(
      el(
        'li',
        {},
        el(
          'button',
          {
            type: 'button',
            'aria-pressed': 'true',
            onclick: event => {
              if (off.has(who.name)) off.delete(who.name);
              else off.add(who.name);
              event.currentTarget.setAttribute('aria-pressed', String(!off.has(who.name)));
              draw(mode);
            },
          },
          el('span.swatch', {style: `background: ${libraryColour(who)}`}),
          who.title,
        ),
      ),
    );
  if (ours.length > 0 && baselines.length > 0) {
    const ratios = points
      .filter(point => ours.some(who => who.name === point.contestant))
      .map(point => ({point, best: fastest(point.collective, point.bytes)}))
      .filter(at => at.best);
    const slower = ratios.filter(({point, best}) => point.median_us > best.median_us);
    const mean = Math.exp(d3.mean(ratios, ({point, best}) => Math.log(best.median_us / point.median_us)));
    host.append(
      el(
        'p.answer',
        {},
        `libcoll over the fastest baseline: ${times(mean)} in the geometric mean of ${countText(ratios.length)} points; slower at ${countText(slower.length)} of them.`,
      ),
      choiceOf('What the curves show', ['Time', 'Gain over the fastest baseline'], 'Time', next => draw((mode = next))),
    );
  }
  host.append(
    el(
      'p.faint',
      {},
      `Bands: ${bench.spread}.` +
        (bench.dropped > 0
          ? ` ${countText(bench.dropped)} samples were left out because the cores were at another distance.`
          : ''),
    ),
    legend,
    panels,
  );
  draw(mode);
}

// Draws a record: ratios in several columns, one row for each collective (or size).
function record(host, bench) {
  const columns = Array.isArray(bench.columns) ? bench.columns : [],
    rows = Object.entries(bench.rows || {});
  host.append(
    facts([
      ['Compares', bench.compares],
      ['Statistic', bench.statistic],
      ['Ranks', bench.ranks && `${bench.ranks}, ${bench.placement}`],
      ['Measured', bench.date && `${bench.date}, commit ${bench.commit}`],
    ]),
  );
  const numeric =
    rows.length > 0 &&
    rows.every(([, values]) => Array.isArray(values)) &&
    rows.some(([, values]) => values.some(value => typeof value === 'number'));
  const isRatio = bench.unit === 'ratio',
    text = value => (isRatio ? times(value) : `${digits(value)} ${bench.unit || ''}`);
  if (numeric)
    host.append(
      curveChart({
        label: `${bench.title}: ${bench.compares}`,
        x: {kind: 'name', names: rows.map(([name]) => name), label: ''},
        y: {label: isRatio ? 'ratio' : bench.unit || '', text, log: isRatio, mark: isRatio ? 1 : undefined},
        series: columns.map((name, at) => ({
          name: String(name),
          colour: `var(--c${at % colourCount})`,
          dots: true,
          points: rows
            .filter(([, values]) => typeof values[at] === 'number')
            .map(([row, values]) => ({x: row, y: values[at]})),
        })),
      }),
    );
  else
    host.append(
      table(
        [
          {title: '', cell: ([name]) => name},
          ...columns.map((name, at) => ({title: String(name), number: true, cell: ([, values]) => String(values[at])})),
        ],
        rows,
        bench.title,
      ),
    );
  for (const note of bench.notes || []) host.append(el('p.faint', {}, String(note)));
}

sections.push({
  id: 'benchmark',
  title: 'Benchmarks',
  draw(host) {
    if (report.benchmarks.length === 0)
      return host.append(
        el(
          'p',
          {},
          'No benchmark. Give what ',
          el('code', {}, 'collctl bench all -n 2 --json'),
          ' or ',
          el('code', {}, 'make bench'),
          ' (',
          el('code', {}, 'bench/run.sh build --json bench.json'),
          ') wrote, or a record of docs/measurements, to ',
          el('code', {}, '--bench'),
          '.',
        ),
      );
    for (const bench of report.benchmarks) {
      host.append(el('h3', {}, bench.title ? `${bench.title} (${bench.file})` : bench.file), whereMeasured(bench.machine));
      if (bench.kind === 'record') record(host, bench);
      else curves(host, bench);
    }
    return undefined;
  },
});
