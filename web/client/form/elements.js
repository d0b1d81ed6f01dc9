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
  if (text === '') element.replaceChildren()
  else shown(element, text)
  return element
}

/** @param {Element} element @param {Record<string, string | boolean | undefined>} attributes */
export function describe(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined) element.setAttribute(name, String(value))
  }
}

/** A box as high as its text, where the browser does not see to it. @param {HTMLTextAreaElement} box */
export function grow(box) {
  const fit = () => {
    box.style.height = 'auto'
    box.style.height = `${box.scrollHeight + box.offsetHeight - box.clientHeight}px`
  }
  box.addEventListener('input', fit)
  // Once it is on the page.
  if (!CSS.supports('field-sizing', 'content')) requestAnimationFrame(fit)
}
