// SPDX-License-Identifier: BSD-3-Clause
// Draws the sections in order.
{
  const name = report.host || machine.name || machine.summary;
  document.title = `libcoll report: ${name}`;
  document.getElementById('title').textContent = `libcoll report: ${name}`;
  document.getElementById('subtitle').textContent = `${machine.hierarchy}; ${machine.summary}`;
  document.getElementById('made').textContent = `Made by collctl report, ${report.library}, ${report.date}.`;
  for (const {id, title, draw} of sections) {
    document.getElementById('contents').append(el('li', {}, el('a', {href: `#${id}`}, title)));
    const host = el('section', {id, 'aria-labelledby': `${id}-title`}, el('h2', {id: `${id}-title`}, title));
    document.getElementById('main').append(host);
    // An error in one section must not hide the others.
    try {
      draw(host);
    } catch (fault) {
      console.error(fault);
      host.append(el('p.answer', {}, `This section cannot be drawn from these data: ${fault.message}`));
    }
  }
  if (glance.length > 0)
    document.getElementById('main').prepend(
      el(
        'div.answer#glance',
        {role: 'region', 'aria-label': 'At a glance'},
        el(
          'ul',
          {},
          // Scroll to the job, which the report was made for.
          [...glance.filter(one => one.first), ...glance.filter(one => !one.first)].map(({id, text}) =>
            el('li', {}, el('a', {href: `#${id}`}, sections.find(one => one.id === id).title), `: ${text}`),
          ),
        ),
      ),
    );
}
