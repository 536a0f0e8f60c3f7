// Making and changing what is on the page. Text is text: what a rank wrote is never HTML.
export const $ = (selector, within = document) => within.querySelector(selector);
export const $$ = (selector, within = document) => [...within.querySelectorAll(selector)];

const SVG = /^(svg|g|path|line|rect|text|circle|title)$/;

// `on`: what a click does; `style`: by the object model, which the content's policy allows.
export function E(tag, attributes = {}, ...children) {
  const element = SVG.test(tag) ? document.createElementNS('http://www.w3.org/2000/svg', tag)
                                : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value == null || (value === false && !name.startsWith('aria-'))) continue;
    if (name.startsWith('aria-')) element.setAttribute(name, value);
    else if (name === 'on') element.addEventListener('click', value);
    else if (name === 'style') element.style.cssText = value;
    else element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.flat().filter(child => child != null && child !== '' && child !== false)
    .map(child => child.nodeType ? child : String(child)));
  return element;
}

// Without touching what is so already, so that a selection stays.
export function set(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// What a terminal would obey, and what changes the direction of text, is shown instead.
const CONTROL = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const PICTURE = c => {
  const code = c.charCodeAt(0);
  return code < 0x20 ? String.fromCharCode(0x2400 + code) : code === 0x7f ? '␡'
    : `\\u${code.toString(16).padStart(4, '0')}`;
};
export const plain = text => text.replace(CONTROL, PICTURE);

// The text as nodes, with control characters told apart and `found` marked.
export function shown(text, found = '') {
  const nodes = [];
  let at = 0;
  const add = piece => {
    let from = 0;
    for (const match of piece.matchAll(CONTROL)) {
      nodes.push(piece.slice(from, match.index), E('span', { class: 'ctl' }, PICTURE(match[0])));
      from = match.index + 1;
    }
    nodes.push(piece.slice(from));
  };
  if (found) {
    const fold = found === found.toLowerCase();
    const where = fold ? text.toLowerCase() : text;
    for (let hit; (hit = where.indexOf(found, at)) >= 0; at = hit + found.length) {
      add(text.slice(at, hit));
      nodes.push(E('mark', {}, plain(text.slice(hit, hit + found.length))));
    }
  }
  add(text.slice(at));
  return nodes.filter(node => node !== '');
}
