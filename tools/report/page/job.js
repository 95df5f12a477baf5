// SPDX-License-Identifier: BSD-3-Clause
// Section 3: where a job's time went, from the files of COLL_STATS.
const classText = limit =>
  limit === null ? 'more than 128 MiB' : limit === 'any' ? 'any size' : `up to ${bytesText(limit)}`;

// Rows of one collective and size class together; `times` are per rank.
function groupsOf(calls, ranks) {
  const made = d3
    .nest()
    .key(row => row.collective)
    .key(row => String(row.up_to_bytes))
    .entries(calls)
    .flatMap(({values}) =>
      values.map(({values: rows}) => {
        const times = ranks.map((rank, at) => sum(rows.map(row => row.seconds[at])));
        const taking = rows
          .map(row => ({...row, total: sum(row.seconds), n: sum(row.calls)}))
          .sort((a, b) => b.total - a.total);
        const taking_part = times.filter(t => t > 0);
        const mean = d3.mean(taking_part) || 0;
        return {
          collective: rows[0].collective,
          limit: rows[0].up_to_bytes,
          rows: taking,
          times,
          total: sum(times),
          n: sum(taking.map(row => row.n)),
          mean,
          imbalance: mean > 0 ? (d3.max(taking_part) - d3.min(taking_part)) / mean : 0,
          gain: gainOf(taking),
        };
      }),
    );
  return made.sort((a, b) => b.total - a.total);
}

// Share of the time of these calls that the model's best algorithm would save: a prediction.
function gainOf(rows) {
  let saved = 0,
    best = null;
  for (const {prediction, total, algorithm} of rows) {
    if (!prediction || !(prediction.used_us > prediction.best_us)) continue;
    const here = total * (1 - prediction.best_us / prediction.used_us);
    if (!best || here > best.here) best = {here, used: algorithm.replace(' (request)', ''), ...prediction};
    saved += here;
  }
  return best && {saved, best: best.best, used: best.used};
}

const groupName = group => `${group.collective}, ${classText(group.limit)}`;

// The calls in which ranks wait most for others; undefined where all ranks take about as long.
const unevenOf = (groups, total) =>
  groups
    .filter(group => group.imbalance > 0.25 && group.total > 0.05 * total)
    .sort((a, b) => b.imbalance * b.total - a.imbalance * a.total)[0];
// Per rank, what the mean spends beyond the rank with the least time.
const waitOf = group => group.mean - d3.min(group.times.filter(t => t > 0));

function jobAnswer(job, groups, total) {
  const worst = groups[0],
    n = job.ranks.length;
  const parts = [
    `Collectives take ${secondsText(total / n)} per rank${job.run_seconds ? `, ${percent(total / sum(job.run_seconds))} of the run` : ''}`,
    `Most time went into ${groupName(worst)}: ${secondsText(worst.total / n)} per rank, ${percent(worst.total / total)} of the time in collectives`,
  ];
  if (job.run_seconds) parts[1] += `, ${percent(worst.total / sum(job.run_seconds))} of the run`;
  let lost = '';
  const uneven = unevenOf(groups, total);
  if (uneven) {
    const late = job.ranks[d3.scan(uneven.times.map(t => (t > 0 ? t : Infinity)))];
    const waits = job.ranks[d3.scan(uneven.times, (a, b) => b - a)];
    parts.push(
      `The largest imbalance is in ${groupName(uneven)}: rank ${late} spends ${secondsText(d3.min(uneven.times.filter(t => t > 0)))} there, rank ${waits} spends ` +
        `${secondsText(d3.max(uneven.times))}; the rank with the least time usually arrives last, and the others wait for it: ` +
        `on average ${secondsText(waitOf(uneven))} per rank, if rank ${late} waits for no other`,
    );
    lost = `, and waiting for rank ${late} in ${groupName(uneven)}, about ${secondsText(waitOf(uneven))} per rank`;
  }
  const gain = groups.filter(group => group.gain).sort((a, b) => b.gain.saved - a.gain.saved)[0];
  if (gain && gain.gain.saved > 0.01 * total)
    parts.push(
      `Prediction: ${gain.gain.best} instead of ${gain.gain.used} would save ${secondsText(gain.gain.saved / n)} per rank in ${groupName(gain)}`,
    );
  glance.push({
    id: 'job',
    text: `most time went into ${groupName(worst)}, ${secondsText(worst.total / n)} per rank${lost}.`,
  });
  return el(
    'div.answer',
    {},
    parts.map(text => el('p', {}, `${text}.`)),
  );
}

function jobTable(job, groups, total, pick) {
  const most = groups[0].total,
    n = job.ranks.length;
  const rows = [];
  const columns = [
    {
      title: 'calls',
      cell: group =>
        el('button', {type: 'button', 'aria-pressed': 'false', onclick: () => choose(group)}, groupName(group)),
    },
    {title: 'time per rank', number: true, cell: group => secondsText(group.total / n)},
    {
      title: 'by algorithm',
      cell: group =>
        el(
          'div',
          {style: 'width: min(9rem, 40vw)'},
          el(
            'div',
            {},
            group.rows.map(row =>
              el('span.bar', {
                title: `${row.algorithm}, ${row.transport}: ${secondsText(row.total / n)} per rank`,
                style: `width: ${(100 * row.total) / most}%; background: ${colourOf(row.algorithm.replace(' (request)', ''))}`,
              }),
            ),
          ),
          group.rows
            .map(row =>
              group.rows.length > 1
                ? `${algorithmName(row.algorithm)} ${percent(row.total / group.total)}`
                : algorithmName(row.algorithm),
            )
            .join(', '),
        ),
    },
    {title: 'share', number: true, cell: group => percent(group.total / total)},
    ...(job.run_seconds
      ? [{title: 'of the run', number: true, cell: group => percent(group.total / sum(job.run_seconds))}]
      : []),
    {
      title: 'calls per rank',
      number: true,
      cell: group => (group.n > 0 ? `${digits(group.n / n)} × ${secondsText(group.total / group.n)}` : '0'),
    },
    {title: 'imbalance', number: true, cell: group => percent(group.imbalance)},
    {
      title: 'predicted gain',
      cell: group =>
        group.gain && group.gain.saved > 0.02 * group.total
          ? el(
              'span',
              {style: 'display: inline-block; min-width: 8.5rem; overflow-wrap: anywhere'},
              `${percent(group.gain.saved / group.total)} with ${group.gain.best}`,
            )
          : '',
    },
  ];
  const timelineOf = group => report.timelines.findIndex(line => line.name.split(' ')[0] === group.collective);
  if (groups.some(group => timelineOf(group) >= 0))
    columns.push({
      title: 'one call in time',
      cell: group =>
        timelineOf(group) >= 0
          ? el('a', {href: `#timeline-${timelineOf(group)}`, title: report.timelines[timelineOf(group)].name}, 'timeline')
          : '',
    });
  const made = table(columns, groups, 'Time of the job by collective and size');
  made.querySelectorAll('tbody tr').forEach(row => rows.push(row));
  function choose(group) {
    groups.forEach((other, at) => {
      rows[at].classList.toggle('picked', other === group);
      rows[at].querySelector('button').setAttribute('aria-pressed', String(other === group));
    });
    pick(group);
  }
  made.classList.add('choice');
  // By rank, the calls in which ranks differ show most.
  choose(unevenOf(groups, total) || groups[0]);
  return made;
}

function byRank(job, group) {
  const rows = group.rows.filter(row => row.total > 0);
  return [
    el('h3', {}, `${groupName(group)}, by rank`),
    curveChart({
      label: `Time in ${groupName(group)} by rank`,
      x: {kind: 'count', label: 'rank'},
      y: {label: 'time in these calls', text: secondsText},
      series: [
        {
          name: 'all algorithms',
          colour: 'var(--c0)',
          dots: job.ranks.length <= 64,
          points: job.ranks.map((rank, at) => ({
            x: rank,
            y: group.times[at],
            note: `${countText(sum(group.rows.map(row => row.calls[at])))} calls`,
          })),
        },
      ],
      height: 200,
    }),
    table(
      [
        {
          title: 'algorithm',
          cell: row =>
            el('span', {}, key(colourOf(row.algorithm.replace(' (request)', '')), algorithmName(row.algorithm))),
        },
        {title: 'transport', cell: row => row.transport},
        {title: 'calls', number: true, cell: row => countText(row.n)},
        {title: 'mean size', number: true, cell: row => bytesText(Math.round(sum(row.bytes) / row.n))},
        {title: 'per call', number: true, cell: row => secondsText(row.total / row.n)},
        {
          title: 'model: same algorithm',
          number: true,
          cell: row => (row.prediction ? usText(row.prediction.used_us) : ''),
        },
        {
          title: 'model: best algorithm',
          cell: row => (row.prediction ? `${usText(row.prediction.best_us)}, ${row.prediction.best}` : 'no prediction'),
        },
      ],
      rows,
      `Algorithms of ${groupName(group)}`,
    ),
  ];
}

sections.push({
  id: 'job',
  title: 'A job',
  draw(host) {
    const job = report.job;
    if (!job)
      return host.append(
        el(
          'p',
          {},
          'No job. Run the program with ',
          el('code', {}, 'COLL_STATS=stats.%r.json'),
          ' and give the files of all ranks: ',
          el('code', {}, 'collctl report -o report.html --stats stats.*.json'),
          '.',
        ),
      );
    const n = job.ranks.length;
    host.append(
      facts([
        ['Files', `${n} rank${n === 1 ? '' : 's'}: ${numbersText(job.ranks)}`],
        [
          'Run',
          job.run_seconds ? `${secondsText(d3.max(job.run_seconds))}, from the first communicator to the end` : '',
        ],
      ]),
    );
    const groups = groupsOf(job.calls, job.ranks),
      total = sum(groups.map(group => group.total));
    if (groups.length === 0 || total === 0)
      host.append(el('p.answer', {}, 'The job made no collective call that libcoll served.'));
    else {
      host.append(jobAnswer(job, groups, total));
      const detail = el('div');
      host.append(
        el('h3', {}, 'By collective and size'),
        jobTable(job, groups, total, group => detail.replaceChildren(...byRank(job, group))),
        el(
          'p.faint',
          {},
          'Times include waiting for late ranks. Imbalance: the difference between the ranks with most and least time, relative to the mean. ' +
            'The predicted gain is the model’s: the cheapest algorithm’s price over that of the algorithm in use, at the mean size.',
        ),
        detail,
      );
      requests(host, job, n);
      byFunction(host, job, n);
    }
    forwardedCalls(host, job);
    return undefined;
  },
});

// What a call of the program is to a request.
const roles = [
  ['starts', /^(MPI_I[a-z]|MPIX?_Start|coll_start)/],
  ['waits', /^(MPI_Wait|coll_wait)/],
  ['tests', /^(MPI_Test|MPI_Request_get_status|coll_test)/],
];
const functionSeconds = row => sum(row.served_seconds) + sum(row.forwarded_seconds) + sum(row.one_rank_seconds);

// How much of the time in flight a rank spent in calls that start requests and wait for them; the rest overlapped.
function overlapAnswer(job, rows, n) {
  const inFlight = sum(rows.map(row => sum(row.seconds)));
  const spent = roles.map(([role, pattern]) => [
    role,
    sum((job.functions || []).filter(row => pattern.test(row.function)).map(row => sum(row.served_seconds))),
  ]);
  const inside = sum(spent.map(([, seconds]) => seconds));
  if (inside === 0) return 'From the start of a request to its completion: computation that overlaps it counts, too.';
  return (
    `Requests were in flight for ${secondsText(inFlight / n)} per rank, each from its start to its completion. ` +
    `${spent.map(([role, seconds]) => `${secondsText(seconds / n)} of that were spent in ${role}`).join(', ')}: ` +
    `${percent(Math.max(0, 1 - inside / inFlight))} overlapped with other work of the program or with other requests.`
  );
}

function byFunction(host, job, n) {
  const rows = (job.functions || []).map(row => ({...row, total: functionSeconds(row)})).filter(row => row.total > 0);
  if (rows.length === 0) return;
  rows.sort((a, b) => b.total - a.total);
  const calls = key => row => (sum(row[key]) > 0 ? digits(sum(row[key]) / n) : '');
  host.append(
    el('h3', {}, 'By function'),
    el('p', {}, 'The functions that the program called, with calls and time per rank.'),
    table(
      [
        {title: 'function', cell: row => row.function},
        {title: 'time', number: true, cell: row => secondsText(row.total / n)},
        ...(job.run_seconds
          ? [{title: 'of the run', number: true, cell: row => percent(row.total / sum(job.run_seconds))}]
          : []),
        {title: 'served', number: true, cell: calls('served')},
        {title: 'forwarded', number: true, cell: calls('forwarded')},
        {title: 'one rank', number: true, cell: calls('one_rank')},
        {title: 'time forwarded', number: true, cell: row => secondsText(sum(row.forwarded_seconds) / n)},
      ],
      rows,
      'Time of the job by function',
    ),
  );
}

function requests(host, job, n) {
  const rows = job.calls.filter(row => row.algorithm.endsWith(' (request)') && sum(row.calls) > 0);
  if (rows.length === 0) return;
  host.append(
    el('h3', {}, 'Non-blocking and persistent calls'),
    el('p', {}, overlapAnswer(job, rows, n)),
    table(
      [
        {title: 'calls', cell: row => `${row.collective}, ${classText(row.up_to_bytes)}`},
        {title: 'algorithm', cell: row => row.algorithm.replace(' (request)', '')},
        {title: 'calls per rank', number: true, cell: row => digits(sum(row.calls) / n)},
        {title: 'in flight, per rank', number: true, cell: row => secondsText(sum(row.seconds) / n)},
        {title: 'per request', number: true, cell: row => secondsText(sum(row.seconds) / sum(row.calls))},
      ],
      rows,
      'Non-blocking calls',
    ),
  );
}

function forwardedCalls(host, job) {
  host.append(el('h3', {}, 'Calls forwarded to the MPI library'));
  if (job.forwarded.length === 0) return host.append(el('p', {}, 'None.'));
  const served = row =>
    sum(
      job.calls
        .filter(
          c => c.collective === row.collective && (row.up_to_bytes === 'any' || c.up_to_bytes === row.up_to_bytes),
        )
        .map(c => sum(c.calls)),
    );
  const rows = job.forwarded.map(row => ({...row, n: sum(row.calls)})).sort((a, b) => b.n - a.n);
  return host.append(
    table(
      [
        {title: 'calls', cell: row => `${row.collective}, ${classText(row.up_to_bytes)}`},
        {title: 'reason', cell: row => row.why},
        {title: 'forwarded', number: true, cell: row => countText(row.n)},
        {title: 'served by libcoll', number: true, cell: row => countText(served(row))},
      ],
      rows,
      'Forwarded calls',
    ),
  );
}
