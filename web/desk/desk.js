/**
 * The desk: a page for people that is simply there. Each part has one subject:
 *
 *   coming    who works, on what; signing out
 *   keys      single keys
 *   person    a name, a code, a link
 *   token     a code from the operator's own site
 *   queues    those of the address, those that are offered, their forms
 *   work      one request after the other
 *   acting    what a person does with the request in hand
 *   seen      the request on the page, the time that is left
 *   request   a request as it was sent
 *   links     what it leads to, and images
 *   answer    by a form, or to approve and reject
 *   arguments of a call, which may be corrected
 *   bell      saying that a request has come
 *   dialogs   why it is skipped, to whom it is handed over
 *   undo      taking the last answer back
 *   page      what the page shows
 *   words     all that the desk says
 *
 * The service joins the parts, with those of forms, to one file.
 */
export { come } from './coming.js'
export { draw } from './seen.js'
