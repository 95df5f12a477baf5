// SPDX-License-Identifier: BSD-3-Clause
// Section 2: a map of collectives and sizes, coloured by the algorithm that serves a blocking call.
const termNames = ['startup of copies', 'transfer of bytes', 'page locks', 'waiting for flags'];
const termColours = ['var(--c1)', 'var(--c0)', 'var(--c3)', 'var(--c2)'];
const servedBy = cell => (cell.latency ? 'latency' : cell.algorithm);
const algorithmName = name => (name === 'latency' ? 'latency path' : name);
const cellKey = cell => `${cell.collective} ${cell.bytes}`;
const sameChoice = (a, b) =>
  a &&
  b &&
  servedBy(a) === servedBy(b) &&
  (a.latency || a.setting === b.setting) &&
  a.kernel_copies === b.kernel_copies;

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

// Calls of the job that fall into this cell: of the same collective, in the size class that holds its size.
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

function choiceDetail(cell, other) {
  const parts = [el('h3', {style: 'margin-top: 0'}, sizeOf(cell))];
  const price = cell.price;
  parts.push(
    facts([
      [
        'Selected',
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
        report.compare ? `With ${report.compare.machine.name}` : '',
        other ? el('code', {}, other.latency ? 'latency path' : other.setting) : '',
      ],
    ]),
  );
  const learned = learnedOf(cell);
  if (learned.length > 0)
    parts.push(el('p', {}, ...learned.flatMap(rule => ['Auto-tuning has learned: ', learnedText(rule), '. '])));
  const formula = report.choice.formulas[`${cell.collective}/${cell.algorithm}`];
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
  const calls = jobCallsOf(cell);
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
            const n = sum(row.calls);
            return `${at > 0 ? '; ' : ''}${algorithmName(row.algorithm)} ${countText(n)} calls, ${secondsText(sum(row.seconds) / n)} each`;
          })
          .join(''),
        '.',
      ),
    );
  return parts;
}

function choiceMap(host, all, others, mode, onPick) {
  const sizes = [...new Set(all.filter(cell => cell.bytes > 0).map(cell => cell.bytes))].sort((a, b) => a - b);
  const collectives = [...new Set(all.map(cell => cell.collective))];
  const byKey = new Map(all.map(cell => [cellKey(cell), cell]));
  const otherOf = new Map((others || []).map(cell => [cellKey(cell), cell]));
  const cellAt = (row, column) =>
    byKey.get(`${collectives[row]} ${sizes[column]}`) || byKey.get(`${collectives[row]} 0`);
  const names = el('div.names'),
    scroller = el('div.scroll.map');
  const plot = el('div', {
    role: 'application',
    tabindex: 0,
    style: 'flex: 1 0 40rem; min-width: 0',
    'aria-label': 'Map of choices: collectives from top to bottom, sizes from left to right. Arrow keys move over it.',
  });
  let at = [Math.max(0, collectives.indexOf('allreduce')), Math.max(0, sizes.indexOf(65536))];

  function draw(width) {
    plot.replaceChildren();
    names.replaceChildren();
    const left = 0,
      top = 24,
      high = 28;
    const column = width / sizes.length;
    const labels = d3
      .select(names)
      .append('svg')
      .attr('width', 104)
      .attr('height', top + high * collectives.length + 4)
      .attr('aria-hidden', 'true');
    const svg = d3
      .select(plot)
      .append('svg')
      .attr('width', width)
      .attr('height', top + high * collectives.length + 4)
      .attr('aria-hidden', 'true');
    sizes.forEach((bytes, i) => {
      if (i % 3 === 0)
        svg
          .append('text')
          .attr('class', 'unit')
          .attr('x', left + (i + 0.5) * column)
          .attr('y', 15)
          .attr('text-anchor', 'middle')
          .text(bytesText(bytes));
    });
    collectives.forEach((collective, row) => {
      const y = top + row * high;
      labels
        .append('text')
        .attr('x', 96)
        .attr('y', y + high / 2 + 4)
        .attr('text-anchor', 'end')
        .text(collective);
      for (let i = 0, end; i < sizes.length; i = end) {
        const first = cellAt(row, i);
        if (!first) {
          end = i + 1;
          continue;
        }
        // Neighbours that the same algorithm serves are one band with its name.
        for (
          end = i + 1;
          end < sizes.length &&
          cellAt(row, end) &&
          servedBy(cellAt(row, end)) === servedBy(first) &&
          cellAt(row, end).kernel_copies === first.kernel_copies;

        )
          end++;
        for (let c = i; c < end; c++) {
          const cell = cellAt(row, c),
            differs = others && !sameChoice(cell, otherOf.get(cellKey(cell)));
          svg
            .append('rect')
            .attr('x', left + c * column)
            .attr('y', y + 1)
            .attr('width', column + 0.3)
            .attr('height', high - 2)
            .style('fill', mode === 'Differences' && !differs ? 'var(--none)' : colourOf(servedBy(cell)));
          if (cell.tuning)
            svg
              .append('circle')
              .attr('cx', left + (c + 0.5) * column)
              .attr('cy', y + high - 6)
              .attr('r', 2)
              .style('fill', 'var(--on)');
        }
        svg
          .append('rect')
          .attr('x', left + i * column)
          .attr('y', y + 1)
          .attr('width', (end - i) * column)
          .attr('height', high - 2)
          .style('fill', 'none')
          .style('stroke', 'var(--ground)')
          .style('stroke-width', 1.5);
        const room = Math.floor(((end - i) * column - 8) / 6.7),
          name = algorithmName(servedBy(first)) + (first.kernel_copies ? ', CMA' : '');
        const quiet =
          mode === 'Differences' &&
          d3.range(i, end).some(c => sameChoice(cellAt(row, c), otherOf.get(cellKey(cellAt(row, c)))));
        if (room >= 4 && !quiet)
          svg
            .append('text')
            .attr('x', left + i * column + 5)
            .attr('y', y + high / 2 + 4)
            .style('fill', 'var(--on)')
            .style('font-weight', 600)
            .text(name.length <= room ? name : `${name.slice(0, room - 1)}…`);
      }
    });
    const cursor = svg.append('rect').attr('class', 'cursor').attr('height', high);
    plot.show = byKey => {
      const cell = cellAt(...at);
      if (!cell) return;
      const whole = cell.bytes === 0;
      cursor
        .attr('x', left + (whole ? 0 : at[1] * column))
        .attr('y', top + at[0] * high)
        .attr('width', whole ? width - left : column);
      onPick(cell, otherOf.get(cellKey(cell)));
      // On a narrow screen the map is wider than its place.
      const x = at[1] * column,
        room = scroller.clientWidth - 104;
      if (!whole && byKey !== false && (x < scroller.scrollLeft || x + column > scroller.scrollLeft + room))
        scroller.scrollLeft = x - room / 2;
      if (byKey)
        say(
          `${sizeOf(cell)}: ${algorithmName(servedBy(cell))}${cell.price ? `, predicted ${usText(cell.price.us)}` : ''}`,
        );
    };
    plot.onpointermove = plot.onclick = event => {
      const box = plot.getBoundingClientRect();
      const row = Math.floor((event.clientY - box.top - top) / high),
        column_ = Math.floor((event.clientX - box.left - left) / column);
      if (row < 0 || column_ < 0 || row >= collectives.length || column_ >= sizes.length) return;
      at = [row, column_];
      plot.show(false);
    };
    plot.show(null);
  }
  cursorKeys(
    plot,
    (dx, dy) => {
      at = [
        Math.max(0, Math.min(collectives.length - 1, at[0] + dy)),
        Math.max(0, Math.min(sizes.length - 1, at[1] + dx)),
      ];
    },
    byKey => plot.show(byKey),
  );
  scroller.append(names, plot);
  host.append(scroller);
  whenSized(plot, draw);
}

sections.push({
  id: 'choice',
  title: 'Choice of algorithms',
  draw(host) {
    const {cells, situation} = report.choice,
      compare = report.compare;
    const theirs = compare && compare.choice.cells;
    // The most frequent algorithms take the first colours, which differ most.
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
    host.append(
      facts([
        ['Ranks', situation.hierarchy + (situation.oversubscribed ? ', oversubscribed' : '')],
        ['Copies', situation.transport],
        ['Type', situation.type],
      ]),
      el(
        'p',
        {},
        'The algorithm that serves a blocking call of each size: the vector, or the block for one other rank. ',
        cells.some(cell => cell.tuning)
          ? 'A dot marks calls that auto-tuning times against another algorithm at run time. '
          : '',
        'Point at a cell, or use the arrow keys, for parameters, prices and alternatives.',
      ),
    );
    const map = el('div.figure'),
      detail = el('div.detail');
    const pick = (cell, other) => detail.replaceChildren(...choiceDetail(cell, other));
    const [mine, others] =
      compare && machine.name && compare.machine.name && machine.name !== compare.machine.name
        ? [machine.name, compare.machine.name]
        : ['This', 'Other'];
    const show = mode => {
      map.replaceChildren();
      if (mode === others) choiceMap(map, theirs, cells, mode, pick);
      else choiceMap(map, cells, theirs, mode, pick);
    };
    if (compare) {
      const byKey = new Map(theirs.map(cell => [cellKey(cell), cell]));
      const differ = cells.filter(cell => !sameChoice(cell, byKey.get(cellKey(cell))));
      host.append(
        el(
          'p.answer',
          {},
          `Compared with ${compare.machine.name || 'the other report'} (${compare.choice.situation.hierarchy}): ` +
            `${differ.length} of ${cells.length} choices differ.`,
        ),
        choiceOf('Choices of', [mine, others, 'Differences'], mine, show),
      );
    }
    host.append(map, detail);
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
    host.append(
      tableOnDemand('All choices as a table', () =>
        table(
          [
            {title: 'call', cell: sizeOf},
            {title: 'served by', cell: cell => algorithmName(servedBy(cell))},
            {title: 'setting', cell: cell => el('code', {}, cell.setting)},
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

// The costs of two machines beside each other.
function parametersCompared(host, other) {
  const rows = [];
  const add = (name, mine, theirs, text) => {
    if (mine || theirs) rows.push({name, mine, theirs, text});
  };
  for (const name of Object.keys(distanceText))
    add(`flag, ${distanceText[name]}`, machine.flag_ns[name], other.flag_ns[name], nsText);
  const gbs = value => `${digits(value)} GB/s`;
  add('copy, one core', machine.copy.alone_gbs, other.copy.alone_gbs, gbs);
  add('copy, all cores, each', machine.copy.all_gbs, other.copy.all_gbs, gbs);
  add('reduce, one core', machine.reduce.alone_gbs, other.reduce.alone_gbs, gbs);
  for (const mine of machine.access) {
    const theirs = other.access.find(access => access.mechanism === mine.mechanism);
    if (!theirs || mine.page_us === 0) continue;
    add(`${mine.mechanism}, page lock`, mine.page_us, theirs.page_us, usText);
    add(`${mine.mechanism}, γ(8)`, gammaOf(mine.gamma)(8), gammaOf(theirs.gamma)(8), times);
  }
  host.append(
    el('h3', {}, 'Costs of the two machines'),
    table(
      [
        {title: 'cost', cell: row => row.name},
        {title: machine.name || 'this', number: true, cell: row => (row.mine ? row.text(row.mine) : '–')},
        {title: other.name || 'other', number: true, cell: row => (row.theirs ? row.text(row.theirs) : '–')},
        {title: 'ratio', number: true, cell: row => (row.mine && row.theirs ? times(row.theirs / row.mine) : '')},
      ],
      rows,
      'Costs of the two machines',
    ),
  );
}
