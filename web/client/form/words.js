/** All that a form says to a person. */

const many = (/** @type {number} */ count, /** @type {string} */ one) => `${count} ${one}${count === 1 ? '' : 's'}`

export const WORDS = {
  yes: 'Yes',
  no: 'No',
  optional: 'optional',
  clear: 'Clear',
  empty: '(empty)',
  search: 'Search',
  none: 'Nothing found.',
  asSent: (/** @type {string} */ text) => `As it was sent: ${text}`,
  zone: (/** @type {string} */ zone) => `Your time zone: ${zone}.`,
  byTheJob: 'This form was written by the one who asked.',
  password: 'Never type a password here.',

  missing: 'This is required.',
  unknown: 'This is not part of the form.',
  object: 'This is not a group of fields.',
  array: 'This is not a list.',
  text: 'This is not text.',
  half: 'This has half of a character, which cannot be sent.',
  boolean: 'Choose Yes or No.',
  option: 'Choose one of the options.',
  unique: 'Choose each option once.',
  number: 'Type a number.',
  held: 'This number has more digits than can be kept.',
  integer: 'Type a whole number.',
  notADate: 'This date is not complete, or does not exist.',
  format: {
    email: 'Type an email address, such as ann@example.com.',
    uri: 'Type an address that begins with https:// or http://.',
    date: 'Type a date that exists.',
    'date-time': 'Type a date and a time that exist.',
  },
  minItems: (/** @type {number} */ least) => `Choose at least ${least}.`,
  maxItems: (/** @type {number} */ limit) => `Choose at most ${limit}.`,
  minLength: (/** @type {number} */ least) => `Type at least ${many(least, 'character')}.`,
  maxLength: (/** @type {number} */ limit, /** @type {number} */ length) => (
    `Type at most ${many(limit, 'character')}: there are ${length}.`),
  minimum: (/** @type {number} */ least) => `Type ${least} or more.`,
  maximum: (/** @type {number} */ limit) => `Type ${limit} or less.`,
  above: (/** @type {number} */ least) => `Type more than ${least}.`,
  below: (/** @type {number} */ limit) => `Type less than ${limit}.`,
  multipleOf: (/** @type {number} */ step) => (step === 1 ? 'Type a whole number.' : `Type a multiple of ${step}.`),
}
