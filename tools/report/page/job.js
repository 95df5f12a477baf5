// SPDX-License-Identifier: BSD-3-Clause
// Section 3: where a job spent its time, from the files of COLL_STATS.

// Summarises the job: "162 ms per rank, 41 % of the time in collectives, 6.5 % of the run".
function shareText(seconds, spent, job) {
  const run = job.run_seconds ? `, ${percent(seconds / sum(job.run_seconds))} of the run` : '';
  return `${secondsText(seconds / job.ranks.length)} per rank, ${percent(seconds / spent.total)} of the time in collectives${run}`;
}

function totalText(job, spent) {
  const n = job.ranks.length,
    of = job.run_seconds ? `, ${percent(spent.total / sum(job.run_seconds))} of the run` : '';
  return spent.known
    ? `Ranks spend ${secondsText(spent.total / n)} each inside calls of collectives, waits for requests included${of}`
    : `Blocking collectives take ${secondsText(spent.total / n)} per rank${of}` +
        (spent.inFlight > 0
          ? `; requests were in flight for ${secondsText(spent.inFlight / n)} per rank, which is not counted: the files do not say how much of it ranks spent in starts, waits and tests`
          : '');
}

function jobAnswer(job, groups, spent) {
  const worst = groups[0],
    n = job.ranks.length,
    parts = [totalText(job, spent)],
    top = text => glance.push({id: 'job', text, first: true});
  top(`${parts[0].replace(/^./, letter => letter.toLowerCase())}.`);
  if (worst && worst.total > 0) {
    parts.push(`Most time went into ${groupName(worst)}: ${shareText(worst.total, spent, job)}`);
    top(`most time went into ${groupName(worst)}: ${shareText(worst.total, spent, job)}.`);
  }
  const uneven = unevenOf(groups, spent.total);
  if (uneven) {
    const late = job.ranks[d3.scan(uneven.times.map(t => (t > 0 ? t : Infinity)))];
    const waits = job.ranks[d3.scan(uneven.times, (a, b) => b - a)];
    const run = job.run_seconds ? `, ${percent((waitOf(uneven) * n) / sum(job.run_seconds))} of the run` : '';
    parts.push(
      `The largest imbalance is in ${groupName(uneven)}: rank ${late} spends ${secondsText(d3.min(uneven.times.filter(t => t > 0)))} there, rank ${waits} spends ` +
        `${secondsText(d3.max(uneven.times))}; the rank with the least time usually arrives last, and the others wait for it: ` +
        `on average ${secondsText(waitOf(uneven))} per rank, if rank ${late} waits for no other`,
    );
    top(`ranks wait for rank ${late} in ${groupName(uneven)}, about ${secondsText(waitOf(uneven))} each${run}.`);
  }
  const overlap = overlapOf(spent);
  if (overlap !== undefined)
    top(
      `requests were in flight for ${secondsText(spent.inFlight / n)} per rank; ${percent(overlap)} of that overlapped.`,
    );
  parts.push(...gainTexts(groups, spent, n));
  return el(
    'div.answer',
    {},
    parts.map(text => el('p', {}, `${text}.`)),
  );
}

// Returns the recommendation of the model that saves most, and the largest one that measured times contradict.
function gainTexts(groups, spent, n) {
  const gains = groups
    .filter(group => group.gain && group.gain.saved > 0.01 * spent.total)
    .sort((a, b) => b.gain.saved - a.gain.saved);
  const fine = gains.find(group => !group.gain.doubt),
    doubtful = gains.find(group => group.gain.doubt);
  const name = group => `${group.gain.best} instead of ${group.gain.used} in ${groupName(group)}`;
  return [
    ...(fine ? [`By the model, ${name(fine)} saves ${secondsText(fine.gain.saved / n)} per rank: ${fine.gain.how}`] : []),
    ...(doubtful ? [`No recommendation of ${name(doubtful)}, which the model prefers: ${doubtful.gain.doubt}`] : []),
  ];
}

function jobTable(job, groups, spent, pick) {
  const most = Math.max(...[...groups, ...spent.parts].map(row => row.total)),
    n = job.ranks.length;
  const rows = [];
  const bar = (total, colour, title) =>
    el('span.bar', {title, style: `width: ${(100 * total) / most}%; background: ${colour}`});
  const columns = [
    {
      title: 'calls',
      cell: group =>
        group.name ||
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
            group.name
              ? bar(group.total, 'var(--c7)', group.name)
              : group.rows.map(row =>
                  bar(
                    row.total,
                    backgroundOf(row.algorithm),
                    `${row.algorithm}, ${row.transport}: ${secondsText(row.total / n)} per rank`,
                  ),
                ),
          ),
          (group.rows || [])
            .map(row =>
              group.rows.length > 1
                ? `${algorithmName(row.algorithm)} ${percent(row.total / group.total)}`
                : algorithmName(row.algorithm),
            )
            .join(', '),
        ),
    },
    {title: 'share', number: true, cell: group => percent(group.total / spent.total)},
    ...(job.run_seconds
      ? [{title: 'of the run', number: true, cell: group => percent(group.total / sum(job.run_seconds))}]
      : []),
    {
      title: 'calls per rank',
      number: true,
      cell: group =>
        group.name ? '' : group.n > 0 ? `${perRankCount(group.counts)} × ${secondsText(group.total / group.n)}` : '0',
    },
    {title: 'imbalance', number: true, cell: group => (group.name ? '' : percent(group.imbalance))},
  ];
  if (groups.some(group => group.gain))
    columns.push({
      title: 'saved, by the model',
      cell: group =>
        group.gain && (group.gain.doubt || group.gain.saved > 0.02 * group.total)
          ? el(
              'span',
              {style: 'display: inline-block; min-width: 10rem; overflow-wrap: anywhere'},
              group.gain.doubt
                ? `no recommendation: ${group.gain.doubt}`
                : `${secondsText(group.gain.saved / n)} per rank with ${group.gain.best}`,
            )
          : '',
    });
  if (groups.some(group => timelinesOf(group).length > 0))
    columns.push({
      title: 'timeline',
      cell: group =>
        el(
          'span',
          {},
          group.name
            ? []
            : timelinesOf(group).map(at =>
                el('a', {href: `#timeline-${at}`, title: report.timelines[at].name}, linkText(report.timelines[at])),
              ),
        ),
    });
  const made = table(columns, [...groups, ...spent.parts], 'Time of the job by collective and size');
  made.querySelectorAll('tbody tr').forEach(row => rows.push(row));
  function choose(group) {
    groups.forEach((other, at) => {
      rows[at].classList.toggle('picked', other === group);
      rows[at].querySelector('button').setAttribute('aria-pressed', String(other === group));
    });
    pick(group);
  }
  made.classList.add('choice');
  // Draws the calls in which ranks differ most, by rank.
  if (groups.length > 0) choose(unevenOf(groups, spent.total) || groups[0]);
  return made;
}

// Returns the timelines of the collective with one of the algorithms of these calls.
function timelinesOf(group) {
  return report.timelines
    .map((line, at) => at)
    .filter(at => {
      const [collective, algorithm] = report.timelines[at].name.split(' ');
      return collective === group.collective && (group.rows || []).some(row => row.algorithm === algorithm);
    });
}
const linkText = line =>
  `${line.name.split(' ')[1]}${line.bytes ? ` of ${bytesText(line.bytes)}` : ''}${line.origin ? `, ${line.origin}` : ''}`;

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
            note: `${countText(group.counts[at])} calls`,
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
            el('span', {}, key(backgroundOf(row.algorithm), algorithmName(row.algorithm))),
        },
        {title: 'transport', cell: row => row.transport},
        {title: 'calls, all ranks', number: true, cell: row => countText(row.n)},
        {title: 'mean size', number: true, cell: row => bytesText(Math.round(sum(row.bytes) / row.n))},
        {title: 'per call', number: true, cell: row => secondsText(row.total / row.n)},
        {
          title: 'model: same algorithm',
          number: true,
          cell: row =>
            row.prediction ? `${usText(row.prediction.used_us)} for ${bytesText(row.prediction.mean_bytes)}` : '',
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
      spent = spentOf(job, groups);
    if (spent.total === 0 && spent.inFlight === 0)
      host.append(el('p.answer', {}, 'The job made no collective call that libcoll served.'));
    else {
      host.append(jobAnswer(job, groups, spent));
      const detail = el('div');
      if (groups.length > 0 && spent.total > 0)
        host.append(
          el('h3', {}, 'By collective and size'),
          jobTable(job, groups, spent, group => detail.replaceChildren(...byRank(job, group))),
          el(
            'p.faint',
            {},
            'Rows are blocking calls, in the order of the time that ranks spent in them, waiting for late ranks included. ' +
              'Imbalance: the difference between the ranks with most and least time, relative to the mean. ' +
              'Saved, by the model: calls × (price of the algorithm in use − price of the cheapest one that can run over the same transport), ' +
              'at the mean size; times that were measured do not enter, but there is no recommendation where they contradict the model.',
          ),
          detail,
        );
      requests(host, job, spent);
      byFunction(host, job, spent);
    }
    forwardedCalls(host, job);
    return undefined;
  },
});

// Summarises the time in flight: the parts spent in calls that start requests and wait for them; the rest overlapped.
function overlapAnswer(spent, n) {
  const overlap = overlapOf(spent);
  if (overlap === undefined)
    return 'In flight: from the start of a request to its completion. Computation that overlaps it counts, too, so that it is not time spent in calls.';
  return (
    `Requests were in flight for ${secondsText(spent.inFlight / n)} per rank, each from its start to its completion. ` +
    `${spent.byRole
      .filter(([, seconds]) => seconds > 0)
      .map(([role, seconds]) => `${secondsText(seconds / n)} of that were spent in ${role}`)
      .join(', ')}: ` +
    `${percent(overlap)} overlapped with other work of the program or with other requests.`
  );
}

function byFunction(host, job, spent) {
  const n = job.ranks.length;
  const rows = (job.functions || []).map(row => ({...row, total: functionSeconds(row)})).filter(row => row.total > 0);
  if (rows.length === 0) return;
  rows.sort((a, b) => b.total - a.total);
  const calls = key => row => (sum(row[key]) > 0 ? perRankCount(row[key]) : '');
  const uses = key => rows.some(row => sum(row[key]) > 0);
  host.append(
    el('h3', {}, 'By function'),
    el(
      'p',
      {},
      'The functions that the program called, with calls and time per rank, waits included. ',
      `Their times add up to ${secondsText(sum(rows.map(row => row.total)) / n)} per rank. `,
      uses('one_rank') ? 'Of one rank: calls on communicators of a single rank, which need no other.' : '',
    ),
    table(
      [
        {title: 'function', cell: row => row.function},
        {title: 'time per rank', number: true, cell: row => secondsText(row.total / n)},
        {title: 'share', number: true, cell: row => percent(row.total / spent.total)},
        ...(job.run_seconds
          ? [{title: 'of the run', number: true, cell: row => percent(row.total / sum(job.run_seconds))}]
          : []),
        {title: 'served, per rank', number: true, cell: calls('served')},
        ...(uses('forwarded')
          ? [
              {title: 'forwarded, per rank', number: true, cell: calls('forwarded')},
              {
                title: 'time forwarded, per rank',
                number: true,
                cell: row => (sum(row.forwarded_seconds) > 0 ? secondsText(sum(row.forwarded_seconds) / n) : ''),
              },
            ]
          : []),
        ...(uses('one_rank') ? [{title: 'of one rank, per rank', number: true, cell: calls('one_rank')}] : []),
      ],
      rows,
      'Time of the job by function',
    ),
  );
}

function requests(host, job, spent) {
  const rows = spent.requests,
    n = job.ranks.length;
  if (rows.length === 0) return;
  host.append(
    el('h3', {}, 'Non-blocking and persistent calls'),
    el('p', {}, overlapAnswer(spent, n)),
    table(
      [
        {title: 'calls', cell: row => `${row.collective}, ${classText(row.up_to_bytes)}`},
        {title: 'algorithm', cell: plainAlgorithm},
        {title: 'calls per rank', number: true, cell: row => perRankCount(row.calls)},
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
        {title: 'forwarded, all ranks', number: true, cell: row => countText(row.n)},
        {title: 'served by libcoll, all ranks', number: true, cell: row => countText(served(row))},
      ],
      rows,
      'Forwarded calls',
    ),
  );
}
