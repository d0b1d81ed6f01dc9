// What the page shows, without knowing what it is about.

import { shown } from '../client/form/shown.js'
import { WORDS_OF_PAGE } from './words.js'

/** What is clicked again so soon is meant for what stood there before. */
export const DOUBLE_CLICK_MS = 500

export const $ = (id) => document.getElementById(id)
export const reveal = (id, isVisible) => { $(id).hidden = !isVisible }

/** What the operator has set for this page: the service writes it into the page's head. */
export const settingOf = (name) => document.querySelector(`meta[name=intray-${name}]`)?.content ?? ''

export function fillWords() {
  for (const place of document.querySelectorAll('[data-word]')) place.textContent = WORDS_OF_PAGE[place.dataset.word]
}

export function view(name) {
  if (document.body.dataset.view === name) return
  document.body.dataset.view = name
  if (name !== 'work') document.title = WORDS_OF_PAGE.brand
  scrollTo(0, 0)
}

export const viewed = () => document.body.dataset.view

export function notice(words, kind, id = 'notice') {
  // Or it would be read out again.
  if ($(id).textContent === (words ?? '')) return
  reveal(id, Boolean(words))
  shown($(id), words ?? '')
  $(id).className = `notice ${kind ?? ''}`
}

let fading
export function toast(words) {
  shown($('toast'), words)
  $('toast').classList.add('shown')
  clearTimeout(fading)
  fading = setTimeout(() => $('toast').classList.remove('shown'), 2_600)
}

export function timeOf(ms) {
  const seconds = Math.max(0, Math.ceil(ms / 1_000))
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
}
