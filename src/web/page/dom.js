// Creates and changes elements. Output of ranks is inserted as text, never as HTML.
export const $ = (selector, within = document) => within.querySelector(selector);
export const $$ = (selector, within = document) => [...within.querySelectorAll(selector)];

const SVG_TAGS = /^(svg|g|path|line|rect|text|circle|title)$/;
const SVG_NAMESPACE = 'http://www.w3.org/2000/svg';

// The style is set through the object model, which the content policy allows.
function setAttribute(element, name, value) {
  const isAria = name.startsWith('aria-');
  if (value == null || (value === false && !isAria)) return;
  if (isAria) element.setAttribute(name, value);
  else if (name === 'onClick') element.addEventListener('click', value);
  else if (name === 'style') element.style.cssText = value;
  else element.setAttribute(name, value === true ? '' : value);
}

// Creates an element. Absent and empty children are left out.
export function make(tag, attributes = {}, ...children) {
  const element = SVG_TAGS.test(tag)
    ? document.createElementNS(SVG_NAMESPACE, tag)
    : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) setAttribute(element, name, value);
  const present = children.flat().filter(child => child != null && child !== '' && child !== false);
  element.append(...present.map(child => child.nodeType ? child : String(child)));
  return element;
}

// Leaves equal text untouched, so that a selection stays.
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// Control characters and those that change the direction of text are shown as symbols.
const CONTROL = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

function symbolOf(character) {
  const code = character.charCodeAt(0);
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  return code === 0x7f ? '␡' : `\\u${code.toString(16).padStart(4, '0')}`;
}

export const plain = text => text.replace(CONTROL, symbolOf);

// Adds the text to the nodes, with each control character as an element.
function addText(nodes, text) {
  let begin = 0;
  for (const match of text.matchAll(CONTROL)) {
    nodes.push(text.slice(begin, match.index), make('span', { class: 'ctl' }, symbolOf(match[0])));
    begin = match.index + 1;
  }
  nodes.push(text.slice(begin));
}

// Returns the text as nodes, with control characters as symbols and each place of `query` marked.
export function highlighted(text, query = '') {
  const nodes = [];
  let begin = 0;
  if (query) {
    const ignoresCase = query === query.toLowerCase();
    const searched = ignoresCase ? text.toLowerCase() : text;
    let hit = searched.indexOf(query);
    while (hit >= 0) {
      const end = hit + query.length;
      addText(nodes, text.slice(begin, hit));
      nodes.push(make('mark', {}, plain(text.slice(hit, end))));
      begin = end;
      hit = searched.indexOf(query, begin);
    }
  }
  addText(nodes, text.slice(begin));
  return nodes.filter(node => node !== '');
}
