// SPDX-License-Identifier: BSD-3-Clause
// The slowdown of concurrent accesses to one process: gamma of the model, measurements, and papers.

const gammaOf = gamma => c => (c <= 1 ? 1 : 1 + gamma.quadratic * (c * c - 1) + gamma.linear * (c - 1));
// CMA II: T = startup + bytes / bandwidth + page * gamma(c) * pages
function accessUs(access, bytes, c) {
  const distance = Object.keys(access.bandwidth_gbs).pop();
  if (distance === undefined) return null;
  return (
    (access.startup_us[distance] || 0) +
    bytes / (access.bandwidth_gbs[distance] * 1000) +
    access.page_us * gammaOf(access.gamma)(c) * Math.ceil(bytes / access.page_bytes)
  );
}
const mechanismOf = {
  cma: 'cma',
  kcoll_copy: 'kcoll_pinned',
  kcoll_uncached: 'kcoll_first_touch',
  kcoll_map: 'mapped',
  shm: 'shared_memory',
};
const steps = most => [
  ...new Set([1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128].filter(c => c < most).concat(most)),
];
const times = value => `× ${digits(value)}`;

function contention(host) {
  const most = Math.max(2, machine.ranks.length, ...machine.contention.map(one => one.ranks));
  const own = machine.access.filter(access => access.page_us > 0);
  const points = machine.calibration.flatMap(({curves}) => curves.filter(at => at.curve.startsWith('gamma of ')));
  host.append(
    el('h3', {}, 'Contention'),
    el(
      'p',
      {},
      'When c processes copy from one process at once, its page locks take γ(c) times as long. ' +
        'A curve near 1 means that concurrent copies do not disturb each other; a steep one calls for a throttle.',
    ),
  );
  const series = [];
  own.forEach((access, at) =>
    series.push({
      name: `${access.mechanism}, this table`,
      colour: `var(--c${at})`,
      points: steps(most).map(c => ({x: c, y: gammaOf(access.gamma)(c)})),
    }),
  );
  [...new Set(points.map(at => at.curve))].forEach((name, number) =>
    series.push({
      name: `${name.slice(9)}, measured by calibrate`,
      colour: `var(--c${[3, 12, 10, 13, 5][number % 5]})`,
      dots: true,
      points: points
        .filter(at => at.curve === name)
        .map(at => ({x: at.x, y: at.measured, note: `fitted: ${times(at.fitted)}`})),
    }),
  );
  machine.papers.forEach((paper, at) =>
    series.push({
      name: paper.description,
      colour: `var(--c${[4, 9, 6, 8, 11, 14][at % 6]})`,
      thin: true,
      points: steps(Math.min(paper.cores || 64, Math.max(64, most))).map(c => ({x: c, y: gammaOf(paper.gamma)(c)})),
    }),
  );
  const charts = el('div.multiples');
  if (series.length > 0)
    charts.append(
      curveChart({
        label: 'Lock contention of kernel-assisted copies',
        x: {kind: 'count', label: 'concurrent copies from one process', log: true},
        y: {label: 'γ(c): time of a page lock relative to one copy alone', text: times, log: true, mark: 1},
        series,
        height: 260,
      }),
    );
  for (const one of machine.contention) charts.append(...measuredAccesses(one));
  host.append(charts);
  calibrationCurves(host);
}

// Time of an access relative to a single access: dots and lines are measured, thin lines are from the model.
function measuredAccesses(one) {
  const charts = [];
  const groups = d3
    .nest()
    .key(row => row.pattern)
    .key(row => row.pages)
    .entries(one.rows);
  for (const {key: pattern, values} of groups)
    for (const {key: pages, values: rows} of values) {
      const series = [];
      d3.nest()
        .key(row => row.transport)
        .entries(rows)
        .forEach(({key: transport, values: of}, at) => {
          const alone = of.find(row => row.concurrent === 1);
          series.push({
            name: transport,
            colour: `var(--c${at})`,
            points: of.map(row => ({
              x: row.concurrent,
              y: row.relative,
              low: alone ? row.p10_us / alone.median_us : undefined,
              high: alone ? row.p90_us / alone.median_us : undefined,
              note:
                `median ${usText(row.median_us)}` +
                (typeof row.lock_waits === 'number' ? `; ${digits(row.lock_waits)} lock waits per access` : ''),
            })),
          });
          const access = machine.access.find(known => known.mechanism === mechanismOf[transport]);
          if (access && access.page_us > 0 && pattern === 'one_to_all')
            series.push({
              name: `${transport}, predicted`,
              colour: `var(--c${at})`,
              thin: true,
              points: of.map(row => ({
                x: row.concurrent,
                y: accessUs(access, pages * 4096, row.concurrent) / accessUs(access, pages * 4096, 1),
              })),
            });
        });
      charts.push(
        curveChart({
          label: `Concurrent accesses, ${pattern}, ${bytesText(pages * 4096)}, ${one.source}`,
          x: {kind: 'count', label: 'concurrent accesses'},
          y: {
            label: `Measured (${one.source}): ${pattern}, ${bytesText(pages * 4096)}, time relative to one access alone`,
            text: times,
            mark: 1,
          },
          series,
          height: 260,
        }),
      );
    }
  return charts;
}

// The measurements of calibrate, and the fitted curve.
function calibrationCurves(host) {
  const curves = machine.calibration.flatMap(one => one.curves).filter(at => !at.curve.startsWith('gamma of '));
  if (curves.length === 0) return;
  const charts = el('div.multiples');
  for (const {key: name, values} of d3
    .nest()
    .key(at => at.curve)
    .entries(curves)) {
    const sorted = [...values].sort((a, b) => a.x - b.x);
    charts.append(
      curveChart({
        label: `Calibration: ${name}`,
        x: {kind: 'bytes', label: 'bytes'},
        y: {label: `${name}: time of one operation`, text: usText, log: true},
        series: [
          {
            name: 'measured',
            colour: 'var(--c3)',
            dots: true,
            points: sorted.map(at => ({x: at.x, y: at.measured, note: `fitted ${usText(at.fitted)}`})),
          },
          {
            name: 'fitted',
            colour: 'var(--c0)',
            points: sorted.filter(at => at.fitted > 0).map(at => ({x: at.x, y: at.fitted})),
          },
        ],
      }),
    );
  }
  host.append(el('h3', {}, 'Calibration: measured points and fit'), charts);
}
