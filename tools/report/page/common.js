// SPDX-License-Identifier: BSD-3-Clause
// Functions that all sections use: elements, number formats, colours, the tooltip, and the keyboard cursor.
'use strict';
const report = JSON.parse(document.getElementById('data').textContent);
const sections = []; // {id, title, draw(host)}
const glance = [];  // {id, text}: the main results of the sections, shown at the top of the page

// ---- elements -----------------------------------------------------------------------------------------------------

// el('p.faint#id', {attribute: value}, 'text', child ...) creates an element. Strings become text nodes, never markup.
function el(what, attributes, ...children) {
  const [, tag, rest] = /^([a-z0-9]+)(.*)$/.exec(what);
  const made = document.createElement(tag);
  for (const [, mark, name] of rest.matchAll(/([.#])([\w-]+)/g))
    if (mark === '.') made.classList.add(name);
    else made.id = name;
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === 'style') made.style.cssText = value;
    else if (name.startsWith('on')) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? '' : value);
  }
  made.append(...children.flat().filter(child => child !== null && child !== undefined));
  return made;
}

function facts(pairs) {
  const list = el('dl.facts');
  for (const [name, value] of pairs)
    if (value !== null && value !== undefined && value !== '') list.append(el('dt', {}, name), el('dd', {}, value));
  return list;
}

// columns: [{title, number, cell(row)}]; a cell is text or an element.
function table(columns, rows, caption) {
  const made = el('table');
  if (caption) made.append(el('caption.hidden', {}, caption));
  made.append(
    el(
      'thead',
      {},
      el(
        'tr',
        {},
        columns.map(c => el(c.number ? 'th.number' : 'th', {scope: 'col'}, c.title)),
      ),
    ),
  );
  made.append(
    el(
      'tbody',
      {},
      rows.map(row =>
        el(
          'tr',
          {},
          columns.map((c, at) => {
            const what = at === 0 ? 'th' : 'td';
            return el(
              c.number ? what + '.number' : what,
              at === 0 ? {scope: 'row', style: 'font-weight: 400'} : {},
              c.cell(row),
            );
          }),
        ),
      ),
    ),
  );
  return scrolled(el('div.scroll', {tabindex: 0, role: 'group', 'aria-label': caption || 'Table'}, made));
}

// Notes that the content is wider than its box: systems often hide scroll bars.
function scrolled(host) {
  const observer = new ResizeObserver(() => host.classList.toggle('wide', host.scrollWidth > host.clientWidth + 1));
  for (const each of [host, ...host.children]) observer.observe(each);
  return host;
}

// A table that is built when it is opened: the same numbers as text, also for screen readers.
function tableOnDemand(summary, make) {
  const made = el('details.no-print', {}, el('summary', {}, summary));
  made.addEventListener('toggle', () => {
    if (made.open && made.children.length === 1) made.append(make());
  });
  return made;
}

// A group of buttons, one of which is pressed.
function choiceOf(label, names, chosen, use) {
  const made = el('div.legend.choice.no-print', {role: 'group', 'aria-label': label});
  for (const name of names)
    made.append(
      el(
        'button',
        {
          type: 'button',
          'aria-pressed': String(name === chosen),
          onclick: event => {
            for (const button of made.children) button.setAttribute('aria-pressed', String(button === event.target));
            use(name);
          },
        },
        name,
      ),
    );
  return made;
}

const key = (colour, text) => el('span.key', {}, el('span.swatch', {style: `background: ${colour}`}), text);

// ---- numbers ------------------------------------------------------------------------------------------------------

const digits = (value, n = 3) => {
  if (value === 0) return '0';
  const text = Number(value.toPrecision(n));
  return Math.abs(text) >= 1e15 ? text.toExponential(2) : text.toLocaleString('en', {maximumFractionDigits: 6});
};
function bytesText(bytes) {
  for (const [unit, size] of [
    ['GiB', 2 ** 30],
    ['MiB', 2 ** 20],
    ['KiB', 2 ** 10],
  ])
    if (bytes >= size) return `${digits(bytes / size)} ${unit}`;
  return `${digits(bytes)} B`;
}
const usText = us =>
  us >= 1e6
    ? `${digits(us / 1e6)} s`
    : us >= 1e3
      ? `${digits(us / 1e3)} ms`
      : us >= 1 || us === 0
        ? `${digits(us)} µs`
        : `${digits(us * 1e3)} ns`;
const nsText = ns => `${digits(ns)} ns`;
const secondsText = s => usText(s * 1e6);
const percent = share => (Number.isFinite(share) ? `${digits(share * 100, 2)} %` : '–');
const countText = n => n.toLocaleString('en');
const sum = values => values.reduce((a, b) => a + b, 0);
const sizeOf = cell => (cell.bytes === 0 ? cell.collective : `${cell.collective} of ${bytesText(cell.bytes)}`);
const numbersText = list => {
  // Formats 0, 1, 2, 5 as "0-2, 5".
  const parts = [];
  for (let i = 0, j; i < list.length; i = j) {
    for (j = i + 1; j < list.length && list[j] === list[j - 1] + 1; ) j++;
    parts.push(j - i > 1 ? `${list[i]}-${list[j - 1]}` : `${list[i]}`);
  }
  return parts.join(', ');
};

// ---- colours ------------------------------------------------------------------------------------------------------

const colourCount = 15;  // number of colours of curves
// Algorithms have seven colours that are distinguishable for the colour-blind, plain and with five textures, assigned
// in the order in which names first occur: 42 styles, more than there are algorithms. Grey is the latency path.
const lookColours = 7;
const looks = new Map();
function lookOf(name) {
  if (!looks.has(name)) looks.set(name, looks.size);
  return looks.get(name);
}
const colourOf = name => (name === 'latency' ? 'var(--c7)' : `var(--a${lookOf(name) % lookColours})`);
// Angles of a texture's stripes.
const textures = [[], [45], [0], [45, -45], [90], [-45]];
const textureOf = name =>
  name === 'latency' ? [] : textures[Math.floor(lookOf(name) / lookColours) % textures.length];
// Colours and textures for CSS, and for SVG.
const backgroundOf = name =>
  [
    ...textureOf(name).map(angle => `repeating-linear-gradient(${angle}deg, transparent 0 4px, var(--stripe) 4px 6px)`),
    colourOf(name),
  ].join(', ');
const fillsOf = name => [colourOf(name), ...textureOf(name).map(angle => `url(#stripes${angle})`)];
const lookKey = (name, text) => el('li.key', {}, el('span.swatch.look', {style: `background: ${backgroundOf(name)}`}), text);
{
  const svg = d3
    .select(document.body)
    .append('svg')
    .attr('width', 0)
    .attr('height', 0)
    .attr('aria-hidden', 'true')
    .style('position', 'absolute');
  for (const angle of new Set(textures.flat()))
    svg
      .append('pattern')
      .attr('id', `stripes${angle}`)
      .attr('patternUnits', 'userSpaceOnUse')
      .attr('width', 6)
      .attr('height', 6)
      // The angle of a gradient is perpendicular to its stripes; this stripe is vertical before the rotation.
      .attr('patternTransform', `rotate(${angle + 90})`)
      .append('rect')
      .attr('width', 2)
      .attr('height', 6)
      .style('fill', 'var(--stripe)');
}
const resolved = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// Canvases have no stylesheet, so they are drawn again when the colours change.
const redraws = new Set();
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => redraws.forEach(draw => draw()));

// Paper is light and has a fixed width: draw everything for printing, and again for the screen afterwards.
const sizers = new Set();
function drawFor(paper) {
  document.documentElement.classList.toggle('paper', paper);
  sizers.forEach(run => run());
  redraws.forEach(draw => draw());
}
addEventListener('beforeprint', () => drawFor(true));
addEventListener('afterprint', () => drawFor(false));

// ---- tooltip and cursor ------------------------------------------------------------------------------------------

const tip = document.getElementById('tip');
function showTip(text, x, y) {
  tip.textContent = text;
  tip.hidden = false;
  const {width, height} = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - width - 4))}px`;
  tip.style.top = `${y + 18 + height > innerHeight ? Math.max(4, y - height - 12) : y + 18}px`;
}
function hideTip() {
  tip.hidden = true;
}
addEventListener('scroll', hideTip, {passive: true});
function say(text) {
  document.getElementById('live').textContent = text;
}

// Calls draw(width) now and whenever the width of the host changes, unless it is hidden.
function whenSized(host, draw) {
  let last = 0;
  const run = () => {
    const width = Math.floor(host.clientWidth);
    if (width > 0 && width !== last) draw((last = width));
  };
  sizers.add(run);
  new ResizeObserver(run).observe(host);
  run();
}

// The arrow keys move a cursor: move(dx, dy) changes its position, show(byKey) displays it.
function cursorKeys(element, move, show, leave) {
  const steps = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]};
  element.addEventListener('keydown', event => {
    if (event.key === 'Escape') return leave && leave();
    const step = steps[event.key];
    if (!step || event.ctrlKey || event.altKey || event.metaKey) return undefined;
    event.preventDefault();
    const far = event.shiftKey ? 8 : 1;
    move(step[0] * far, step[1] * far);
    return show(true);
  });
  element.addEventListener('focus', () => {
    if (element.matches(':focus-visible')) show(true);
  });
  element.addEventListener('blur', () => {
    hideTip();
    leave && leave();
  });
}

// ---- places -------------------------------------------------------------------------------------------------------

// As topo::distance(): the outermost level in which the two places differ; -1: the level is not shared.
const [PACKAGE, NUMA, L3, L2, CORE, PU] = [0, 1, 2, 3, 4, 5];
function distanceOf(a, b) {
  const shares = level => a[level] >= 0 && a[level] === b[level];
  if (a[PU] === b[PU] && a[PU] >= 0) return 'self';
  if (!shares(PACKAGE)) return 'node';
  if (!shares(NUMA)) return 'socket';
  if (shares(CORE) || shares(L2)) return 'core';
  return shares(L3) ? 'l3' : 'numa';
}
const distanceText = {
  self: 'the same processing unit',
  core: 'the same core or L2',
  l3: 'the same L3',
  numa: 'the same NUMA node',
  socket: 'the same socket',
  node: 'different sockets',
};
