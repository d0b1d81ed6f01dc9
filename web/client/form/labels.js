/** What a field is called: its title, or its name in words. */

/** @import { Field } from '../form.js' */

const WORDS_OF_A_NAME = /[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+/g
const PLAIN_NAME = /^[A-Za-z][A-Za-z0-9]*(?:[_-][A-Za-z0-9]+)*$/

/** `customer_id` is "Customer id"; a name with other characters stays as it is. @param {string} name */
export function inWords(name) {
  if (!PLAIN_NAME.test(name)) return name
  const words = name.match(WORDS_OF_A_NAME) ?? []
  const plain = words.map((word) => (/^[A-Z]{2,}$/.test(word) ? word : word.toLowerCase()))
  return plain.join(' ').replace(/^./, (first) => first.toUpperCase())
}

/**
 * The labels of the fields next to each other. Names whose words are equal are shown as they are.
 * @param {{ name: string, title?: string }[]} fields
 */
export function labelsOf(fields) {
  const made = fields.map(({ name, title }) => title || inWords(name))
  const counts = new Map()
  for (const label of made) counts.set(label, (counts.get(label) ?? 0) + 1)
  return made.map((label, n) => (counts.get(label) === 1 || fields[n].title ? label : fields[n].name))
}

const SECRETS = new Set([
  'password', 'passwords', 'passwd', 'passcode', 'passphrase', 'pwd', 'pin', 'otp', 'totp', 'cvv', 'cvc', 'tan',
  'pass', 'secret', 'secrets', 'token', 'credential', 'credentials', 'mnemonic', 'clave', 'parola',
])

/** Without marks, blanks and what is not seen. @param {string} text */
const bare = (text) => (
  text.normalize('NFKD').toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, ''))

/** Parts of names, in the languages of most people. */
const PARTS = [
  'password', 'passwort', 'kennwort', 'passwd', 'passcode', 'passphrase', 'pincode', 'apikey', 'privatekey',
  'secretkey', 'seedphrase', 'contraseña', 'motdepasse', 'senha', 'wachtwoord', 'пароль', '密码', '密碼', 'パスワード', '비밀번호',
  'verification code', 'one-time code', 'security code', 'şifre', 'hasło', 'heslo', 'lösenord', 'mật khẩu',
  'kata sandi', 'login code', 'sicherheitscode', 'code from the sms', 'recovery phrase', 'पासवर्ड', 'كلمة المرور',
].map(bare)

/** Letters of other scripts, and the Latin ones that they look like. */
const LOOKS = new Map([...'аеорсухіѕԁѡктмнαορειντκ0'].map((letter, n) => [letter, 'aeopcyxisdwktmhaopeivtko'[n]]))

/** @param {string} text */
const latin = (text) => [...text].map((letter) => (
  LOOKS.get(letter) ?? LOOKS.get(letter.toLowerCase())?.toUpperCase() ?? letter)).join('')

/** @param {string} text */
function hasPart(text) {
  const plain = bare(text)
  return PARTS.some((part) => plain.includes(part))
}

/**
 * Whether a field asks for what no page but one's own may have. A description is a sentence, which may have a short
 * word of them.
 * @param {{ name?: string, title?: string, description?: string }} field
 */
export function isSecret({ name = '', title = '', description = '' }) {
  if (hasPart(description) || hasPart(latin(description))) return true
  return [name, title, latin(name), latin(title)].some((text) => {
    const plain = text.normalize('NFKD').replaceAll(/[.\p{M}\p{Default_Ignorable_Code_Point}]/gu, '')
    const isWord = plain.match(WORDS_OF_A_NAME)?.some((word) => SECRETS.has(word.toLowerCase()))
    return isWord || hasPart(text)
  })
}
