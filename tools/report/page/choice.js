// SPDX-License-Identifier: BSD-3-Clause
// Section 2: a map of collectives and sizes, coloured by the algorithm that serves a blocking call.
const termNames = ['startup of copies', 'transfer of bytes', 'page locks', 'waiting for flags'];
const termColours = ['var(--c1)', 'var(--c0)', 'var(--c3)', 'var(--c2)'];
const servedBy = cell => (cell.latency ? 'latency' : cell.algorithm);
const algorithmName = name => (name === 'latency' ? 'latency path' : name);
const cellKey = cell => `${cell.collective} ${cell.bytes}`;
function termsBar(terms, most) {
  const total = sum(terms),
    bar = el('div.terms', {
      role: 'img',
      'aria-label': terms.map((us, at) => `${termNames[at]} ${usText(us)}`).join(', '),
    });
  if (total > 0)
    terms.forEach((us, at) =>
      bar.append(
        el('span', {
          title: `${termNames[at]}: ${usText(us)}`,
          style: `width: ${(100 * us) / Math.max(most, total)}%; background: ${termColours[at]}`,
        }),
      ),
    );
  return bar;
}

function parametersText(parameters) {
  return Object.entries(parameters)
    .map(([name, value]) => `${name}=${name === 'chunk' ? bytesText(value) : value}`)
    .join(', ');
}

// Returns the calls of the job for this cell: those of its collective whose size class contains its size.
function jobCallsOf(cell) {
  if (!report.job) return [];
  return report.job.calls.filter(
    row =>
      row.collective === cell.collective &&
      typeof row.up_to_bytes === 'number' &&
      cell.bytes <= row.up_to_bytes &&
      (cell.bytes * 8 > row.up_to_bytes || row.up_to_bytes === 8),
  );
}

// `mode`: the name of the machine whose choices are shown, or Differences. `other`: the choices of the other machine.
function choiceDetail(cell, other, mode) {
  const [mine, others] = comparedNames(),
    theirs = mode === others;
  const parts = [el('h3', {style: 'margin-top: 0'}, sizeOf(cell))];
  const price = cell.price;
  parts.push(
    facts([
      [
        mode === 'Differences' ? 'Difference' : '',
        mode === 'Differences' ? el('code', {}, changeText(cell, other)) : '',
      ],
      [
        report.compare ? `Selected on ${theirs ? others : mine}` : 'Selected',
        el('code', {}, cell.latency ? `latency path (longer or non-blocking calls: ${cell.setting})` : cell.setting),
      ],
      [
        'Copies',
        cell.kernel_copies
          ? 'kernel-assisted'
          : cell.non_temporal
            ? 'staged or mapped, with non-temporal stores'
            : 'staged or mapped',
      ],
      ['Decided by', cell.latency ? 'size: short messages take the latency path' : cell.decided_by],
      ['Measured', cell.measured_us > 0 ? `${usText(cell.measured_us)} during calibration` : ''],
      [
        'Auto-tuning',
        cell.tuning ? el('span', {}, 'times ', el('code', {}, cell.tuning), ' against it at run time') : '',
      ],
      [
        `Selected on ${theirs ? mine : others}`,
        other ? el('code', {}, settingText(other)) : '',
      ],
    ]),
  );
  // Files of auto-tuning, and the job, belong to the first machine.
  const learned = theirs ? [] : learnedOf(cell);
  if (learned.length > 0)
    parts.push(el('p', {}, ...learned.flatMap(rule => ['Auto-tuning has learned: ', learnedText(rule), '. '])));
  const formula = (theirs ? report.compare : report).choice.formulas[`${cell.collective}/${cell.algorithm}`];
  const rows = [
    ...(price
      ? [
          {
            algorithm: cell.algorithm,
            parameters: {},
            transport: cell.kernel_copies ? 'cma' : 'shm',
            us: price.us,
            terms: price.terms,
            has_plan: true,
            selected: true,
          },
        ]
      : []),
    ...cell.others,
  ];
  const most = Math.max(0, ...rows.map(row => row.us));
  if (rows.length > 0)
    parts.push(
      table(
        [
          {
            title: 'algorithm',
            cell: row =>
              row.selected
                ? el('strong', {}, row.algorithm)
                : row.has_plan
                  ? row.algorithm
                  : `${row.algorithm} (not implemented)`,
          },
          {title: 'parameters', cell: row => (row.selected ? 'as selected' : parametersText(row.parameters))},
          {title: 'transport', cell: row => row.transport},
          {title: 'predicted', number: true, cell: row => usText(row.us)},
          {
            title: 'of the selected',
            number: true,
            cell: row => (price && price.us > 0 ? `× ${digits(row.us / price.us)}` : ''),
          },
          ...(rows.some(row => row.why_not)
            ? [{title: 'cheaper, but not selected', cell: row => el('span', {style: 'display: inline-block; min-width: 12rem'}, row.why_not || '')}]
            : []),
          {title: 'spent on', cell: row => el('div', {style: 'width: min(13rem, 40vw)'}, termsBar(row.terms, most))},
        ],
        rows,
        `Predicted times, ${sizeOf(cell)}`,
      ),
      el(
        'p',
        {},
        termNames.map((name, at) => key(termColours[at], name)),
      ),
    );
  if (formula)
    parts.push(
      el(
        'p.faint',
        {},
        `Formula: ${formula.formula} (${formula.source}). Predictions are the model's, not measurements.`,
      ),
    );
  const calls = theirs ? [] : jobCallsOf(cell).filter(row => sum(row.calls) > 0);
  if (calls.length > 0)
    parts.push(
      el(
        'p',
        {},
        'In the job, size class up to ',
        bytesText(calls[0].up_to_bytes),
        ': ',
        calls
          .map((row, at) => {
            const n = sum(row.calls),
              each = secondsText(sum(row.seconds) / n),
              mean = bytesText(Math.round(sum(row.bytes) / n));
            return (
              `${at > 0 ? '; ' : ''}${algorithmName(plainAlgorithm(row))} ${countText(n)} ${isRequest(row) ? 'requests' : 'calls'}, ` +
              `${cell.bytes > 0 ? `${mean} in the mean, ` : ''}${each} ${isRequest(row) ? 'in flight ' : ''}each`
            );
          })
          .join(''),
        '.',
      ),
    );
  return parts;
}

sections.push({
  id: 'choice',
  title: 'Choice of algorithms',
  draw(host) {
    const {cells, situation} = report.choice,
      compare = report.compare;
    const theirs = compare && compare.choice.cells;
    // The most frequent algorithms get the first colours, which differ most.
    const byCount = list =>
      d3
        .nest()
        .key(name => name)
        .rollup(of => of.length)
        .entries(list)
        .sort((a, b) => b.value - a.value);
    const inJob = (report.job ? report.job.calls : []).map(plainAlgorithm);
    for (const list of [cells.map(servedBy), inJob, (theirs || []).map(servedBy)])
      byCount(list).forEach(({key: name}) => colourOf(name));
    const [mine, others] = comparedNames(),
      situations = [situation, ...(compare ? [compare.choice.situation] : [])],
      of = el('div');
    // Uses the algorithms of the machine that is shown; of both machines when differences are shown.
    const showFacts = mode => {
      const shown = mode === 'Differences' ? situations : mode === others ? situations.slice(1) : situations.slice(0, 1);
      const text = read => [...new Set(shown.map(read))].join(' → ');
      of.replaceChildren(
        facts([
          ['Machine', compare ? (mode === 'Differences' ? `${mine} → ${others}` : mode) : ''],
          ['Ranks', text(one => one.hierarchy + (one.oversubscribed ? ', more than cores' : ''))],
          ['Copies', text(one => one.transport)],
          ['Type', text(one => one.type)],
        ]),
      );
    };
    host.append(
      el(
        'p',
        {},
        'The algorithm that serves a blocking call of each size: the vector, or the block for one other rank. ',
        'Point at a cell, or use the arrow keys, for parameters, prices and alternatives.',
      ),
    );
    const map = el('div.figure'),
      detail = el('div.detail');
    const show = mode => {
      map.replaceChildren();
      showFacts(mode);
      const pick = (cell, other) => detail.replaceChildren(...choiceDetail(cell, other, mode));
      if (mode === others) choiceMap(map, theirs, cells, mode, pick);
      else choiceMap(map, cells, theirs, mode, pick);
    };
    if (compare) {
      host.append(
        el(
          'div.answer',
          {},
          compareAnswer(cells, theirs, situations, [mine, others]).map(text => el('p', {}, text)),
        ),
        choiceOf('Choices of', [mine, others, 'Differences'], mine, show),
      );
    }
    host.append(of, map, detail);
    const example = cells.find(cell => cell.collective === 'allreduce' && cell.bytes === 65536);
    if (example)
      glance.push({
        id: 'choice',
        text:
          `allreduce of 64 KiB among ${countText(machine.ranks.length)} ranks is served by ` +
          `${example.latency ? 'the latency path' : servedBy(example)}` +
          `${example.price ? `, predicted ${usText(example.price.us)}` : ''}.`,
      });
    show(mine);
    const otherOf = new Map((theirs || []).map(cell => [cellKey(cell), cell]));
    host.append(
      tableOnDemand('All choices as a table', () =>
        table(
          [
            {title: 'call', cell: sizeOf},
            {title: 'served by', cell: cell => algorithmName(servedBy(cell))},
            {title: 'setting', cell: cell => el('code', {}, cell.setting)},
            ...(compare
              ? [{title: `${mine} → ${others}`, cell: cell => el('code', {}, changeText(cell, otherOf.get(cellKey(cell))))}]
              : []),
            {title: 'predicted', number: true, cell: cell => (cell.price ? usText(cell.price.us) : '')},
            {title: 'decided by', cell: cell => (cell.latency ? 'size' : cell.decided_by)},
          ],
          cells,
          'All choices',
        ),
      ),
    );
    learnedTable(host);
    if (compare) parametersCompared(host, compare.machine);
  },
});
