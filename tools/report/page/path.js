// SPDX-License-Identifier: BSD-3-Clause
// The critical path of a timeline: as one sentence, drawn over its steps, and as a table.
const [HOP_ROW, HOP_BEGIN, HOP_LENGTH, HOP_STEP] = [0, 1, 2, 3];
const hopsOf = line => (line.path ? line.path.hops : []);
const besidePath = 0.4;  // opacity of the steps that are not on the path

function pathAnswer(line) {
  const {path} = line;
  if (!path)
    return el('p.answer.path', {}, 'No critical path: these data were made without it. Make the report again from the trace.');
  const length = path.end_us - path.begin_us;
  const lost = `the file does not say which post ended the wait ‘${path.lost}’`;
  if (path.lost !== null && !(length > 0)) return el('p.answer.path', {}, `No critical path: ${lost}.`);
  const part = (name, us, least = 0) => (us > least * length ? `${name} ${percent(us / length)}` : '');
  const shares = [
    part('copies', path.us.copy),
    part('reductions', path.us.reduce),
    part('waits', path.us.wait),
    part('before its first step', path.us.start, 0.005),
    part('other steps and between steps', path.us.other, 0.005),
  ].filter(text => text);
  return el(
    'p.answer.path',
    {},
    el('strong', {}, 'Critical path'),
    `, ${usText(length)} through ${countText(path.ranks)} rank${path.ranks > 1 ? 's' : ''}: ${shares.join(', ')}.`,
    path.lost !== null ? ` It is known from ${usText(path.begin_us)} on: ${lost}.` : '',
    path.hops.length < path.pieces ? ' It leads through all steps of the file; as much of it is drawn as the report holds.' : '',
    ' ',
    el(
      'span.faint',
      {},
      'Each of its steps had to wait for the one before: the operation ends earlier only where this path gets shorter. A wait counts from the post that it met.',
    ),
  );
}

function pathButton(use) {
  return el(
    'button.path',
    {
      type: 'button',
      'aria-pressed': 'true',
      onclick: event => {
        const on = event.currentTarget.getAttribute('aria-pressed') !== 'true';
        event.currentTarget.setAttribute('aria-pressed', String(on));
        use(on);
      },
    },
    el('span.swatch', {style: 'background: var(--path); height: .2rem'}),
    'Critical path',
  );
}

// Draws a line through the rows of the path, and its steps in full colours, high enough to be distinguishable in low
// rows.
function drawPath(to, line, hops, {x, y, thick, colours}) {
  const end = hop => hop[HOP_BEGIN] + hop[HOP_LENGTH],
    middle = hop => y(hop[HOP_ROW]) + thick / 2;
  const way = new Path2D();
  hops.forEach((hop, at) => {
    if (at === 0) way.moveTo(x(hop[HOP_BEGIN]), middle(hop));
    way.lineTo(x(end(hop)), middle(hop));
  });
  to.lineJoin = 'round';
  for (const [name, width] of [
    ['--ground', 5],
    ['--path', 2.2],
  ]) {
    to.strokeStyle = resolved(name);
    to.lineWidth = width;
    to.stroke(way);
  }
  to.lineWidth = 1.2;
  const high = Math.max(thick, 7);
  for (const hop of hops) {
    const slice = line.slices[hop[HOP_STEP]];
    if (!slice || line.kinds[slice[KIND]] === 'wait') continue;
    const box = [x(hop[HOP_BEGIN]), middle(hop) - high / 2, Math.max(0.7, x(end(hop)) - x(hop[HOP_BEGIN])), high];
    to.fillStyle = colours[slice[KIND]];
    to.fillRect(...box);
    if (box[2] > 4) to.strokeRect(...box);
  }
}

function pathTable(host, line) {
  const hops = hopsOf(line);
  if (hops.length === 0) return;
  const stepText = hop => {
    const slice = line.slices[hop[HOP_STEP]];
    return slice ? line.words[slice[WORD]] || line.kinds[slice[KIND]] : 'between steps';
  };
  host.append(
    tableOnDemand('The critical path as a table', () =>
      table(
        [
          {title: 'from', number: true, cell: hop => usText(hop[HOP_BEGIN])},
          {title: 'rank', cell: hop => rankName(line.rows[hop[HOP_ROW]])},
          {title: 'step', cell: stepText},
          {title: 'time', number: true, cell: hop => usText(hop[HOP_LENGTH])},
          {title: 'share', number: true, cell: hop => percent(hop[HOP_LENGTH] / (line.path.end_us - line.path.begin_us))},
        ],
        hops,
        'Critical path',
      ),
    ),
  );
}
