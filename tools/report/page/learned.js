// SPDX-License-Identifier: BSD-3-Clause
// The files of auto-tuning: the rules for a cell of the map of choices, and all rules as a table.
const learnedRules = (report.learned || []).flatMap(({file, rules}) => rules.map(rule => ({...rule, file})));
const learnedOf = cell =>
  learnedRules.filter(
    rule =>
      rule.collective === cell.collective &&
      rule.ranks === machine.ranks.length &&
      rule.oversubscribed === Boolean(report.choice.situation.oversubscribed) &&
      cell.bytes >= rule.from_bytes &&
      cell.bytes < rule.below_bytes,
  );
// Text of a condition: '!=2', '=2'.
const elementText = rule => rule.element.replace('!=', 'other than ').replace('=', '');
const learnedText = rule =>
  el(
    'span',
    {},
    el('code', {}, rule.setting),
    rule.us > 0 ? ` takes ${usText(rule.us)}` : '',
    rule.usual_us > 0 ? `; without auto-tuning ${usText(rule.usual_us)}` : '',
    rule.element ? ` (bytes of an element: ${elementText(rule)})` : '',
  );

function learnedTable(host) {
  if (learnedRules.length === 0) return;
  host.append(
    el('h3', {}, 'What auto-tuning has learned'),
    el(
      'p',
      {},
      'Measured while programs ran on ',
      [...new Set(report.learned.map(({processor}) => processor))].join(', '),
      '.',
    ),
    table(
      [
        {
          title: 'calls',
          cell: rule => `${rule.collective}, ${bytesText(rule.from_bytes)} to less than ${bytesText(rule.below_bytes)}`,
        },
        {
          title: 'ranks',
          number: true,
          cell: rule => `${countText(rule.ranks)}${rule.oversubscribed ? ', oversubscribed' : ''}`,
        },
        {title: 'bytes of an element', cell: elementText},
        {title: 'setting', cell: rule => el('code', {}, rule.setting)},
        {title: 'time', number: true, cell: rule => (rule.us > 0 ? usText(rule.us) : '')},
        {
          title: 'without auto-tuning',
          number: true,
          cell: rule => (rule.usual_us > 0 ? usText(rule.usual_us) : ''),
        },
        {
          title: 'gain',
          number: true,
          cell: rule => (rule.us > 0 && rule.usual_us > 0 ? `× ${digits(rule.usual_us / rule.us)}` : ''),
        },
        {title: 'file', cell: rule => rule.file},
      ],
      learnedRules,
      'What auto-tuning has learned',
    ),
  );
}
