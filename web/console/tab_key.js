// The key, for as long as the tab is open, and only for who has asked for that. The browser gives what a tab keeps to
// no other tab, but to one that is made by duplicating it.

const NAME = 'intray-key'

/** A browser may forbid a page to keep anything: then the key is in memory, as it is without this. */
function tried(act) {
  try {
    return act()
  } catch {
    return null
  }
}

export const read = () => tried(() => sessionStorage.getItem(NAME))
export const keep = (key) => { tried(() => sessionStorage.setItem(NAME, key)) }
export const forget = () => { tried(() => sessionStorage.removeItem(NAME)) }
