/** Elements are made one by one: nothing of a form is ever markup. */
import { shown } from './shown.js'

/**
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, any>} [properties]
 * @param {(Node | string)[]} [children]
 */
export function make(tag, properties = {}, children = []) {
  const element = Object.assign(document.createElement(tag), properties)
  for (const child of children) element.append(child)
  return element
}

/**
 * Text that others wrote, as it can be relied on.
 * @template {HTMLElement} Element
 * @param {Element} element
 * @param {string} text
 */
export function tell(element, text) {
  shown(element, text)
  return element
}

/** @param {Element} element @param {Record<string, string | boolean | undefined>} attributes */
export function describe(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined) element.setAttribute(name, String(value))
  }
}

/** @type {Set<HTMLTextAreaElement>} */
const growing = new Set()

/** All at once: to measure one after another was set would lay out the page for each. */
function growAll() {
  const boxes = [...growing]
  growing.clear()
  for (const box of boxes) box.style.height = 'auto'
  const heights = boxes.map((box) => box.scrollHeight + box.offsetHeight - box.clientHeight)
  boxes.forEach((box, n) => (box.style.height = `${heights[n]}px`))
}

/** A box as high as its text, by the browser where it can. @param {HTMLTextAreaElement} box */
export function grow(box) {
  if (CSS.supports('field-sizing', 'content')) return box.style.setProperty('field-sizing', 'content')
  const later = () => {
    if (growing.size === 0) requestAnimationFrame(growAll)
    growing.add(box)
  }
  box.addEventListener('input', later)
  // Once it is on the page.
  later()
}
