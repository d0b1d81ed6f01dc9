// What the documents print for a page, as a page: whole pages as they are, and parts in a page that has what they take for
// granted.
import { readFileSync } from 'node:fs'

const read = (name) => readFileSync(new URL(`../../../${name}`, import.meta.url), 'utf8')

/** A part is run in this page, whose button does what the section "Undo" has a button do. */
const AROUND = (part) => `<!doctype html>
<meta charset="utf-8">
<h1 id="title"></h1>
<textarea id="editor" aria-label="Note"></textarea>
<button id="done">Done</button>
<button id="button">Undo</button>
<p id="status" role="status"></p>
<script type="module">
const [title, editor, done, button] = ['title', 'editor', 'done', 'button'].map((id) => document.getElementById(id))
const token = undefined
const say = (text) => (document.getElementById('status').textContent = text)
window.say = say
${part}
${undoOf('docs/browser.md')}
</script>`

const first = (page, kind, from = '') => new RegExp(`\`\`\`${kind}\n(.*?)\`\`\``, 's').exec(read(page).split(from).slice(from ? 1 : 0).join(from))[1]
const undoOf = (page) => first(page, 'js', '\n## Undo\n')

/** Where a page is printed, and its text with the module's address in it. */
export const PRINTED = {
  'README.md, In a page': () => AROUND(first('README.md', 'js', '\n## In a page\n')),
  'docs/browser.md, the first part': () => AROUND(first('docs/browser.md', 'js')),
  'docs/browser.md, Plain HTML': () => first('docs/browser.md', 'html'),
  'docs/start.md, The page': () => first('docs/start.md', 'html'),
  'web/client/README.md': () => first('web/client/README.md', 'html'),
}

/** `module`: where the service serves it. There is more time to undo: ten seconds pass on a busy machine. */
export function printed(name, module) {
  const { origin } = new URL(module)
  return PRINTED[name]()
    .replaceAll(/https:\/\/queue\.example|http:\/\/127\.0\.0\.1:7070/g, origin)
    .replace('./node_modules/intray-client/client.js', module)
    .replaceAll('undo: 10_000', 'undo: 60_000')
    .replace("const token = async () => (await fetch('/my-token')).text()", 'const token = undefined')
}
