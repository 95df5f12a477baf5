// SPDX-License-Identifier: BSD-3-Clause
// Draws curves over sizes, counts or names, with their spread, a legend that hides and shows curves, a cursor for
// pointer and keyboard, and a table of the numbers.

// options: {label, x: {label, kind: 'bytes' | 'count' | 'name', names, log}, y: {label, log, text(value), zero, mark},
//   height, series: [{name, colour, points: [{x, y, low, high, note}], thin, dots, off}], note(series, point)}
function curveChart(options) {
  const {x, y, series} = options;
  const host = el('div.figure');
  const plot = el('div', {
    role: 'application',
    tabindex: 0,
    'aria-label': `${options.label}. Arrow keys move along the curves.`,
  });
  const xText = value => (x.kind === 'bytes' ? bytesText(value) : x.kind === 'name' ? String(value) : countText(value));
  let at = {series: 0, point: 0};
  let redraw = () => {};

  const legend = el('ul.legend', {'aria-label': 'Curves'});
  if (series.length > 1 && !options.noLegend)
    for (const one of series)
      legend.append(
        el(
          'li',
          {},
          el(
            'button',
            {
              type: 'button',
              'aria-pressed': String(!one.off),
              onclick: event => {
                one.off = !one.off;
                event.currentTarget.setAttribute('aria-pressed', String(!one.off));
                redraw();
              },
            },
            el('span.swatch', {
              style: `background: ${
                one.thin ? `repeating-linear-gradient(90deg, ${one.colour} 0 4px, transparent 4px 7px)` : one.colour
              }`,
            }),
            one.name,
          ),
        ),
      );

  // Curves with equal values must both be visible.
  const hides = (one, other) =>
    one.points.length === other.points.length && one.points.every((p, i) => p.x === other.points[i].x && p.y === other.points[i].y);
  const shown = () => series.filter(one => !one.off && one.points.length > 0);
  const text = (one, point) => {
    const spread =
      point.low === undefined || point.low === point.high ? '' : ` (${y.text(point.low)} to ${y.text(point.high)})`;
    const note = options.note ? options.note(one, point) : point.note;
    return (
      `${one.name}\n${x.kind === 'count' ? `${x.label}: ` : ''}${xText(point.x)}: ${y.text(point.y)}${spread}` +
      (note ? `\n${note}` : '')
    );
  };

  function draw(width) {
    const lines = shown(),
      all = lines.flatMap(one => one.points);
    d3.select(plot).selectAll('svg').remove();
    if (all.length === 0) return;
    const left = 62,
      right = 12,
      top = 8,
      slanted = x.kind === 'name' && x.names.length * 74 > width - 62,
      bottom = slanted ? 58 : 40,
      height = options.height || 230;
    const range = [left, width - right];
    const [least, most] = d3.extent(all, point => point.x);
    const across =
      x.kind === 'name'
        ? d3.scalePoint().domain(x.names).range(range).padding(0.5)
        : x.kind === 'bytes'
          ? d3
              .scaleLog()
              .base(2)
              .domain(least === most ? [least / 2, most * 2] : [least, most])
              .range(range)
          : (x.log ? d3.scaleLog().base(2) : d3.scaleLinear())
              .domain(least === most ? [least - 1, most + 1] : [least, most])
              .range(range);
    // Clip the bands, so that outliers of the spread do not flatten the curves.
    const values = all.map(point => point.y).filter(value => value > 0);
    const beyond = y.log ? 3 : 1.5;
    const edges = d3.extent(values);
    for (const point of all)
      for (const value of [point.low, point.high])
        if (value > edges[0] / beyond && value < edges[1] * beyond) values.push(value);
    if (y.mark !== undefined) values.push(y.mark);
    let [low, high] = d3.extent(values);
    if (low === undefined) [low, high] = [0, 1];
    const up = y.log ? d3.scaleLog().domain([low / 1.15, high * 1.15]) : d3.scaleLinear().domain([0, high * 1.08]);
    up.range([height - bottom, top]);

    const svg = d3.select(plot).append('svg').attr('width', width).attr('height', height).attr('aria-hidden', 'true');
    const ticksUp = y.log ? logTicks(up, (height - top - bottom) / 22) : up.ticks(5);
    svg
      .append('g')
      .attr('class', 'grid')
      .attr('transform', `translate(${left},0)`)
      .call(
        d3
          .axisLeft(up)
          .tickValues(ticksUp)
          .tickSize(-(width - left - right))
          .tickFormat(''),
      );
    svg
      .append('g')
      .attr('class', 'axis')
      .attr('transform', `translate(${left},0)`)
      .call(d3.axisLeft(up).tickValues(ticksUp).tickSize(0).tickPadding(6).tickFormat(y.text))
      .call(g => g.select('path').remove());
    const axis = d3.axisBottom(across).tickSize(4);
    if (x.kind === 'bytes') axis.tickValues(byteTicks(least, most, (width - left - right) / 56)).tickFormat(bytesText);
    if (x.kind === 'count' && x.log) axis.tickValues(byteTicks(least, most, 12)).tickFormat(countText);
    else if (x.kind === 'count')
      axis
        .tickValues(across.ticks(Math.max(2, Math.floor((width - left) / 60))).filter(Number.isInteger))
        .tickFormat(countText);
    const bottomAxis = svg
      .append('g')
      .attr('class', 'axis')
      .attr('transform', `translate(0,${height - bottom})`)
      .call(axis);
    if (slanted)
      bottomAxis
        .selectAll('text')
        .attr('transform', 'rotate(-28)')
        .attr('text-anchor', 'end')
        .attr('dx', '-.4em')
        .attr('dy', '.5em');
    else
      svg
        .append('text')
        .attr('class', 'unit')
        .attr('x', width - right)
        .attr('y', height - 6)
        .attr('text-anchor', 'end')
        .text(x.label);
    if (y.mark !== undefined)
      svg
        .append('line')
        .attr('x1', left)
        .attr('x2', width - right)
        .attr('y1', up(y.mark))
        .attr('y2', up(y.mark))
        .style('stroke', 'var(--faint)')
        .style('stroke-width', 1.5);

    const line = d3
      .line()
      .x(point => across(point.x))
      .y(point => up(clamp(point.y)));
    const clamp = value => Math.max(up.domain()[0], Math.min(up.domain()[1], value));
    const band = d3
      .area()
      .x(point => across(point.x))
      .y0(point => up(clamp(point.low)))
      .y1(point => up(clamp(point.high)));
    lines.forEach((one, number) => {
      const spread = one.points.filter(point => point.low !== undefined);
      if (spread.length > 1 && !one.dots)
        svg.append('path').attr('class', 'band').style('fill', one.colour).attr('d', band(spread));
      if (!one.dots)
        svg
          .append('path')
          .attr('class', one.thin ? 'curve thin' : 'curve')
          .style('stroke', one.colour)
          .style('stroke-dasharray', lines.slice(0, number).some(other => hides(one, other)) ? '9 7' : null)
          .attr('d', line(one.points));
      if ((!one.thin && one.points.length <= 64) || one.points.length === 1)
        svg
          .append('g')
          .selectAll('circle')
          .data(one.points)
          .enter()
          .append('circle')
          .attr('r', one.dots ? 4 : 2.6)
          .attr('cx', point => across(point.x))
          .attr('cy', point => up(clamp(point.y)))
          .style('fill', one.colour);
    });
    const cursor = svg.append('circle').attr('class', 'cursor').attr('r', 6).attr('visibility', 'hidden');

    plot.show = byKey => {
      const one = lines[(at.series = Math.min(at.series, lines.length - 1))];
      const point = one.points[(at.point = Math.min(at.point, one.points.length - 1))];
      const [px, py] = [across(point.x), up(clamp(point.y))];
      cursor.attr('cx', px).attr('cy', py).attr('visibility', 'visible');
      const box = plot.getBoundingClientRect();
      showTip(text(one, point), box.left + px, box.top + py);
      if (byKey) say(text(one, point));
    };
    plot.move = (dx, dy) => {
      const before = lines[at.series].points[at.point];
      at.series = (at.series + dy + 8 * lines.length) % lines.length;
      const points = lines[at.series].points;
      if (dy !== 0 && before)
        at.point = Math.max(
          0,
          d3.scan(
            points,
            (a, b) => Math.abs(across(a.x) - across(before.x)) - Math.abs(across(b.x) - across(before.x)),
          ),
        );
      else at.point = Math.max(0, Math.min(points.length - 1, at.point + dx));
    };
    plot.leave = () => {
      cursor.attr('visibility', 'hidden');
      hideTip();
    };
    plot.onpointermove = event => {
      const box = plot.getBoundingClientRect();
      const [px, py] = [event.clientX - box.left, event.clientY - box.top];
      let best = 45 ** 2;
      lines.forEach((one, s) =>
        one.points.forEach((point, p) => {
          const away = (across(point.x) - px) ** 2 + (up(clamp(point.y)) - py) ** 2;
          if (away < best) [best, at] = [away, {series: s, point: p}];
        }),
      );
      if (best < 45 ** 2) plot.show(false);
      else plot.leave();
    };
    plot.onpointerleave = plot.leave;
  }

  cursorKeys(
    plot,
    (dx, dy) => plot.move && plot.move(dx, dy),
    byKey => plot.show && plot.show(byKey),
    () => plot.leave && plot.leave(),
  );
  host.append(el('p.unit', {style: 'font-size: .82rem; margin: 0', class: 'faint'}, y.label), plot);
  if (legend.children.length > 0) host.append(legend);
  host.append(tableOnDemand('Numbers', () => chartTable(options, xText)));
  redraw = () => draw(Math.floor(plot.clientWidth));
  whenSized(plot, draw);
  return host;
}

function chartTable({label, x, y, series}, xText) {
  const xs =
    x.kind === 'name' ? x.names : [...new Set(series.flatMap(one => one.points.map(p => p.x)))].sort((a, b) => a - b);
  const cell = (one, value) => {
    const point = one.points.find(p => p.x === value);
    return point ? y.text(point.y) : '';
  };
  return table(
    [
      {title: x.label, cell: xText},
      ...series.map(one => ({title: one.name, number: true, cell: value => cell(one, value)})),
    ],
    xs,
    label,
  );
}

// Returns powers of two, four or sixteen between two sizes: at most `most` of them.
function byteTicks(least, high, most) {
  for (const step of [1, 2, 4, 8]) {
    const ticks = d3.range(Math.ceil(Math.log2(least)), Math.log2(high) + 1e-9, step).map(power => 2 ** power);
    if (ticks.length <= most || step === 8) return ticks;
  }
  return [];
}

// Returns 1, 2 and 5 of every decade if there is room, else 1.
function logTicks(scale, most) {
  const [low, high] = scale.domain();
  const decades = d3.range(Math.floor(Math.log10(low)), Math.ceil(Math.log10(high)) + 1);
  for (const factors of [[1, 2, 5], [1, 3], [1]]) {
    const ticks = decades
      .flatMap(power => factors.map(factor => factor * 10 ** power))
      .filter(v => v >= low && v <= high);
    if (ticks.length <= Math.max(2, most)) return ticks;
  }
  const step = Math.ceil(decades.length / Math.max(2, most));
  return decades
    .filter((power, at) => at % step === 0)
    .map(power => 10 ** power)
    .filter(v => v >= low && v <= high);
}
