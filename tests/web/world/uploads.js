// The console's page for an upload, as its stories use it.
import { confirm } from './stage.js'
import { reads } from './until.js'

export const dialog = (page) => page.getByRole('dialog')
export const heading = (page) => page.locator('#report')
export const alert = (page) => page.locator('main').getByRole('alert')
export const outcome = (page) => page.locator('.outcome dd').allTextContents()
export const map = (page, column, field) => page.getByLabel(`Where ${column} goes`).selectOption(field)
export const button = (page, name) => page.getByRole('button', { name })
export const choose = (page, text, name = 'table.csv') =>
  page.locator('input[type=file]').setInputFiles({ name, mimeType: 'text/csv', buffer: Buffer.from(text) })

/** The file itself, which may be saved later: not a copy of it. */
export async function chooseFile(page, path) {
  const session = await page.context().newCDPSession(page)
  const { root } = await session.send('DOM.getDocument')
  const { nodeId } = await session.send('DOM.querySelector', { nodeId: root.nodeId, selector: 'input[type=file]' })
  await session.send('DOM.setFileInputFiles', { files: [path], nodeId })
  await session.detach()
}

/** Whether queue, name and the like can not be changed. */
export const isLocked = (page) => page.locator('.choices').evaluate(({ disabled }) => disabled)

/** A table with so many rows. */
export const rowsOf = (rows) => `n\n${Array.from({ length: rows }, (_, n) => n).join('\n')}\n`

/** The page for a queue, with a file that was chosen. */
export async function open(on, queue, text, { name = 'table.csv', ...how } = {}) {
  const page = await on.open(`/console/#/upload?queue=${queue}`, how)
  await choose(page, text, name)
  return page
}

/** A file is dropped anywhere. */
export const drop = (page, text, name) => page.evaluate(([text, name]) => {
  const dataTransfer = new DataTransfer()
  dataTransfer.items.add(new File([text], name))
  const event = new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true })
  document.querySelector('main').dispatchEvent(event)
}, [text, name])

/** Begins to send it. */
export async function begin(page) {
  await button(page, /^Add .* rows?…$/).click()
  await confirm(page, 'Add them')
}

/** Sends it, and waits for the end. */
export async function send(page, how = /^Done/) {
  await begin(page)
  await reads(heading(page), how)
}

/** Whether it is a call with rows. */
export const hasRows = ({ method, path }) => method === 'POST' && /^\/(jobs|batches)\?/.test(path)
