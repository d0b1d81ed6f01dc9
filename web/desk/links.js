// What a request leads to: links, and the images that an operator lets the page show.

import { make, tell } from '../client/form/elements.js'
import { visible } from '../client/form/shown.js'
import { settingOf } from './page.js'
import { SAY } from './words.js'

const ADDRESS = /^https:\/\/([^/?#@]+)(?:[/?#]|$)/
/** A part of a path that leads up; some servers take what follows a `;` for no part of its name. */
const UP = /(?:^|[/\\])\.\.?(?:[/\\;]|$)/

let below
/** Each ends with a slash, and is written as browsers write an address. */
const imageOrigins = () => (below ??= settingOf('image-origins').split(' ').filter(Boolean))

/** The links of a whole text that is an address; its image stands after its link, which is there without it too. */
export function linksOf(value) {
  const image = imageOf(value, imageOrigins())
  const url = image ?? linkOf(value)
  return [url && link(url), image && picture(image)].filter(Boolean)
}

/** A whole text that leads to a host, and to nothing that it could hide: no user, no port. */
export function linkOf(value) {
  return ADDRESS.exec(value)?.[1].includes(':') ? undefined : addressIn(value)
}

/** A whole text that leads below one of the addresses, after the browser and the server have read it. */
export function imageOf(value, origins) {
  const url = addressIn(value)
  return url && origins.some((origin) => url.href.startsWith(origin)) && !leadsUp(url.pathname) ? url : undefined
}

function addressIn(value) {
  if (!ADDRESS.test(value) || value !== visible(value) || /[\s\\]/.test(value) || !URL.canParse(value)) return
  return new URL(value)
}

const MAX_ROUNDS = 3

/** Some servers decode `..%2f`, or do so twice. What is encoded more often could lead anywhere. */
function leadsUp(path) {
  try {
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      const decoded = decodeURIComponent(path)
      if (decoded === path) return UP.test(path)
      path = decoded
    }
  } catch {
    // A server may read it otherwise.
  }
  return true
}

/** It shows its host as the browser will call it. */
function link(url) {
  const element = make('a', { className: 'link', target: '_blank', rel: 'noopener noreferrer' })
  element.href = url.href
  return tell(element, SAY.opens(url.host))
}

/** Its host learns nothing of the page or the person; of many, those are asked for that come into sight. */
const picture = (url) => make('img', {
  className: 'picture', alt: SAY.picture(url.host), loading: 'lazy', decoding: 'async', referrerPolicy: 'no-referrer',
  crossOrigin: 'anonymous', src: url.href,
})
