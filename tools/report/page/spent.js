// SPDX-License-Identifier: BSD-3-Clause
// The time that the ranks of a job spent inside calls. A blocking call counts whole. The time in flight of a request
// does not count: only its start and the waits and tests for it do.
const classText = limit =>
  limit === null ? 'more than 128 MiB' : limit === 'any' ? 'any size' : `up to ${bytesText(limit)}`;
const isRequest = row => row.algorithm.endsWith(' (request)');
const plainAlgorithm = row => row.algorithm.replace(' (request)', '');
const groupName = group => `${group.collective}, ${classText(group.limit)}`;

// Formats exact numbers, also if ranks differ: "2,064", or "120 to 2,064".
function perRankCount(counts) {
  const [least, most] = d3.extent(counts);
  return least === most ? countText(least) : `${countText(least)} to ${countText(most)}`;
}
const countsOf = (rows, ranks) => ranks.map((rank, at) => sum(rows.map(row => row.calls[at])));

// Joins the blocking calls of one collective and size class; `times` are per rank.
function groupsOf(calls, ranks) {
  const made = d3
    .nest()
    .key(row => row.collective)
    .key(row => String(row.up_to_bytes))
    .entries(calls.filter(row => !isRequest(row)))
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
          counts: countsOf(taking, ranks),
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

// The role of a call for a request: start, wait or test.
const roles = [
  ['starts', /^(MPI_I[a-z]|MPIX?_Start|coll_start)/],
  ['waits', /^(MPI_Wait|coll_wait)/],
  ['tests', /^(MPI_Test|MPI_Request_get_status|coll_test)/],
];
const functionSeconds = row => sum(row.served_seconds) + sum(row.forwarded_seconds) + sum(row.one_rank_seconds);

// Seconds of all ranks together. `total` is the time inside functions if the file has it, else that of blocking calls.
// `parts`: what the total contains besides blocking calls.
function spentOf(job, groups) {
  const blocking = sum(groups.map(group => group.total)),
    requests = job.calls.filter(row => isRequest(row) && sum(row.calls) > 0),
    inFlight = sum(requests.map(row => sum(row.seconds)));
  const functions = job.functions || [],
    all = sum(functions.map(functionSeconds));
  const byRole = roles.map(([role, pattern]) => [
    role,
    sum(functions.filter(row => pattern.test(row.function)).map(row => sum(row.served_seconds))),
  ]);
  const inRequests = sum(byRole.map(([, seconds]) => seconds));
  const made = {blocking, requests, inFlight, byRole, inRequests, known: all > 0.9 * blocking && all > 0};
  if (!made.known) return {...made, total: blocking, parts: []};
  const forwarded = sum(functions.map(row => sum(row.forwarded_seconds)));
  const rest = all - blocking - inRequests - forwarded;
  return {
    ...made,
    total: Math.max(all, blocking),
    parts: [
      {name: 'requests: starts, waits and tests', total: inRequests},
      {name: 'forwarded to the MPI library', total: forwarded},
      {name: 'other time in these functions', total: rest > 0.001 * all ? rest : 0},
    ].filter(part => part.total > 0),
  };
}

// Returns the part of the time in flight that ranks did not spend in starts, waits and tests; undefined if it is
// unknown.
const overlapOf = spent =>
  spent.inFlight > 0 && spent.inRequests > 0 ? Math.max(0, 1 - spent.inRequests / spent.inFlight) : undefined;

// Returns the calls in which ranks wait most for others; undefined if all ranks take about the same time.
const unevenOf = (groups, total) =>
  groups
    .filter(group => group.imbalance > 0.25 && group.total > 0.05 * total)
    .sort((a, b) => b.imbalance * b.total - a.imbalance * a.total)[0];
// The mean over ranks of the time beyond that of the rank with the least time.
const waitOf = group => group.mean - d3.min(group.times.filter(t => t > 0));

// Returns the time of a call on the median rank, in microseconds.
const medianCall = row =>
  (d3.median(
    row.seconds.map((seconds, at) => seconds / row.calls[at]),
    value => (isFinite(value) ? value : undefined),
  ) || 0) * 1e6;

// Returns why measured times contradict the model's recommendation `best`; '' if they do not.
function doubtOf(row, rows) {
  const {prediction} = row,
    took = medianCall(row),
    other = rows.find(one => one.algorithm === prediction.best);
  if (other && medianCall(other) >= took)
    return `${prediction.best} was measured slower in this job, ${usText(medianCall(other))} a call against ${usText(took)} of ${row.algorithm}`;
  const off = took / prediction.used_us;
  return off > 2 || off < 0.5
    ? `a call of ${row.algorithm} took ${usText(took)}, the model says ${usText(prediction.used_us)}`
    : '';
}

// Returns the largest saving that the model predicts: calls times the difference of two predicted times.
function gainOf(rows) {
  let found = null;
  for (const row of rows) {
    const {prediction, n, algorithm} = row;
    if (!prediction || !(prediction.used_us > prediction.best_us)) continue;
    const saved = n * (prediction.used_us - prediction.best_us) * 1e-6;
    if (found && found.saved >= saved) continue;
    const how = `${perRankCount(row.calls)} calls × (${usText(prediction.used_us)} − ${usText(prediction.best_us)}) for ${bytesText(prediction.mean_bytes)}`;
    found = {saved, best: prediction.best, used: algorithm, how, doubt: doubtOf(row, rows)};
  }
  return found;
}
