// SPDX-License-Identifier: BSD-3-Clause
// The map of choices: a row for each collective, a column for each size.

function choiceMap(host, all, others, mode, onPick) {
  const sizes = [...new Set(all.filter(cell => cell.bytes > 0).map(cell => cell.bytes))].sort((a, b) => a - b);
  const collectives = [...new Set(all.map(cell => cell.collective))];
  const byKey = new Map(all.map(cell => [cellKey(cell), cell]));
  const otherOf = new Map((others || []).map(cell => [cellKey(cell), cell]));
  const cellAt = (row, column) =>
    byKey.get(`${collectives[row]} ${sizes[column]}`) || byKey.get(`${collectives[row]} 0`);
  const onlyDifferences = mode === 'Differences';
  const changeOf = cell => differenceOf(cell, otherOf.get(cellKey(cell)));
  // Merge neighbours with the same text to one band.
  const bandText = cell => {
    const name = algorithmName(servedBy(cell)) + (cell.kernel_copies ? ', CMA' : '');
    if (!onlyDifferences) return name;
    const other = otherOf.get(cellKey(cell)),
      change = changeOf(cell);
    if (change === 'same') return '';
    return change === 'parameters' || !other ? `${name}: other parameters` : `${name} → ${algorithmName(servedBy(other))}`;
  };
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
        const text = bandText(first);
        for (end = i + 1; end < sizes.length && cellAt(row, end) && bandText(cellAt(row, end)) === text; ) end++;
        for (let c = i; c < end; c++) {
          const cell = cellAt(row, c),
            quiet = onlyDifferences && changeOf(cell) === 'same';
          for (const fill of quiet ? ['var(--none)'] : fillsOf(servedBy(cell)))
            svg
              .append('rect')
              .attr('x', left + c * column)
              .attr('y', y + 1)
              .attr('width', column + 0.3)
              .attr('height', high - 2)
              .style('fill', fill);
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
        const room = Math.floor(((end - i) * column - 8) / 6.7);
        if (room >= 4 && text)
          svg
            .append('text')
            .attr('x', left + i * column + 5)
            .attr('y', y + high / 2 + 4)
            .style('fill', 'var(--on)')
            .style('font-weight', 600)
            // Keeps the text legible on stripes.
            .style('paint-order', 'stroke')
            .style('stroke', colourOf(servedBy(first)))
            .style('stroke-width', textureOf(servedBy(first)).length > 0 ? 4 : 0)
            .text(text.length <= room ? text : `${text.slice(0, room - 1)}…`);
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
      // On a narrow screen the map scrolls horizontally.
      const x = at[1] * column,
        room = scroller.clientWidth - 104;
      if (!whole && byKey && (x < scroller.scrollLeft || x + column > scroller.scrollLeft + room))
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
  host.append(el('p.hint.faint.no-print', {}, 'Wider than the screen: scroll sideways for larger sizes.'), scroller, ...mapLegend(all, mode, changeOf));
  whenSized(plot, draw);
  scrolled(scroller);  // after the drawing functions
}

// Explains the colours and marks that occur in the map: the most frequent algorithm first.
function mapLegend(cells, mode, changeOf) {
  const differences = mode === 'Differences',
    coloured = differences ? cells.filter(cell => changeOf(cell) !== 'same') : cells,
    counts = new Map(),
    keys = [];
  for (const cell of coloured) counts.set(servedBy(cell), (counts.get(servedBy(cell)) || 0) + 1);
  const names = [...counts.keys()].sort((a, b) => counts.get(b) - counts.get(a));
  if (differences)
    keys.push(
      key('var(--none)', 'grey: the same choice'),
      el('span.key', {}, 'A → B: from the first machine’s algorithm, whose colour it has, to the other’s'),
    );
  if (cells.some(cell => cell.tuning))
    keys.push(el('span.key', {}, el('span.dot'), 'dot: auto-tuning times it against another at run time'));
  return [
    el('ul.legend', {'aria-label': 'Algorithms of the map'}, names.map(name => lookKey(name, algorithmName(name)))),
    ...(keys.length > 0 ? [el('p', {}, keys)] : []),
  ];
}
