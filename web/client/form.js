/**
 * A form for an answer: a small part of JSON Schema, drawn for a person and checked by the rules of the service.
 *
 *   const form = drawForm(schema, { value: job.draft, onchange: (value) => job.save(value) })
 *   page.append(form.element)
 *
 * Each part has one subject:
 *
 *   gate      what a form may be, and what it is refused for
 *   keywords  the table of them
 *   options   what can be chosen
 *   check     whether a value is what the form asks for
 *   formats   email, uri, date, date-time, and exact multiples
 *   json      texts as the service reads them
 *   draw      a form on a page
 *   fields    its fields, and their errors
 *   boxes     fields that a person types into
 *   choices   fields that a person chooses in
 *   list      a long list, with a search
 *   elements  how elements are made
 *   labels    names of fields in words
 *   words     all that is said
 *   shown     text of others
 *
 * `readForm`, `checkForm` and `visible` need no page.
 */
export { readForm } from './form/gate.js'
export { checkForm, checkText } from './form/check.js'
export { drawForm } from './form/draw.js'
export { shown, visible } from './form/shown.js'
