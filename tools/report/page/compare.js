// SPDX-License-Identifier: BSD-3-Clause
// Compares the choices and costs of two machines.

// Returns same, parameters (the algorithm is the same), or algorithm.
function differenceOf(a, b) {
  if (!a || !b) return 'algorithm';
  if (servedBy(a) !== servedBy(b)) return 'algorithm';
  return a.latency || (a.setting === b.setting && a.kernel_copies === b.kernel_copies) ? 'same' : 'parameters';
}
const settingText = cell => (cell.latency ? 'latency path' : cell.setting + (cell.kernel_copies ? ', CMA' : ''));
const changeText = (a, b) =>
  differenceOf(a, b) === 'same' ? 'same' : `${settingText(a)} → ${b ? settingText(b) : 'nothing'}`;

// The labels of the two sides: the names of their machines if these differ.
const comparedNames = () =>
  report.compare && machine.name && report.compare.machine.name && machine.name !== report.compare.machine.name
    ? [machine.name, report.compare.machine.name]
    : ['this machine', 'the other'];

function compareAnswer(cells, theirs, situations, names) {
  const byKey = new Map(theirs.map(cell => [cellKey(cell), cell]));
  const counts = {same: 0, parameters: 0, algorithm: 0};
  for (const cell of cells) counts[differenceOf(cell, byKey.get(cellKey(cell)))]++;
  const crowded = names.filter((name, at) => situations[at].oversubscribed);
  return [
    `Of ${countText(cells.length)} choices, ${countText(counts.algorithm)} are of another algorithm on ${names[1]}, ` +
      `${countText(counts.parameters)} of the same one with other parameters or copies; ${countText(counts.same)} are the same.`,
    ...crowded.map(
      name =>
        `${name} has fewer cores than ranks (${situations[names.indexOf(name)].hierarchy}): ranks share cores there, for which other rules decide.`,
    ),
  ];
}

// Tables of the costs of both machines.
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
