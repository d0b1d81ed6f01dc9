/** `intray-client/form`: a form for an answer, drawn and checked. */

/** A place that is wrong, as a JSON pointer into the result or the schema, and why, for a person. */
export interface Fault {
  pointer: string
  detail: string
}

/** Why a schema is not a form: at least one place in it. */
export interface Refused {
  readonly faults: Fault[]
}

export interface Option {
  value: string
  title?: string
  description?: string
}

interface Noted {
  title?: string
  description?: string
  default?: unknown
  /** It may be `null`. */
  isNullable: boolean
}

export interface Fields {
  kind: 'object'
  fields: Field[]
  /** It has no other members. */
  isClosed: boolean
}

export type Shape =
  | { kind: 'options'; options: Option[] }
  | { kind: 'array'; options: Option[]; isUnique: boolean; minItems?: number; maxItems?: number }
  | { kind: 'text'; format?: 'email' | 'uri' | 'date' | 'date-time'; minLength?: number; maxLength?: number }
  | {
    kind: 'number' | 'integer'
    minimum?: number
    maximum?: number
    exclusiveMinimum?: number
    exclusiveMaximum?: number
    multipleOf?: number
  }
  | { kind: 'boolean' }
  | Fields

export type Field = Shape & Noted & { name: string; isRequired: boolean }

/** What a schema asks for. */
export type Form = Fields & Noted & { from: Origin; faults?: undefined }

/** Who wrote a form: the operator of the queue, or the one who asked. */
export type Origin = 'queue' | 'job'

/**
 * The form of a schema, or of the text of one; or its refusal. A text is read as strictly as the service does: a member
 * that is there twice is refused. `from: 'job'` takes no `pattern`.
 */
export declare function readForm(schema: unknown, how?: { from?: Origin }): Form | Refused

/** What is wrong with a result, by the rules of the service; but a `pattern` is run by the service alone. */
export declare function checkForm(form: Form, value: unknown): Fault[]

/** The same for a JSON text, in which a member may be there twice. */
export declare function checkText(form: Form, text: string): Fault[]

export interface FormSettings<Value = any> {
  /** What was typed before: each part that fits is kept. Without it, the form begins with its defaults. */
  value?: Value | null
  /** Called after each change, with what a draft or a result would be now. */
  onchange?: (value: Value) => void
  /** `'job'`: says that the one who asked wrote it, chooses nothing in advance, and warns of fields for passwords. */
  from?: Origin
  /** Whether digits choose; people may want single keys switched off. */
  keys?: () => boolean
}

export interface DrawnForm<Value = any> {
  readonly element: HTMLElement
  /** What was typed and chosen. What is empty is absent, or `null` where it has to be there and may be that. */
  value(): Value
  /**
   * Marks what is wrong and answers it; nothing: it can be sent. With the `error.problem.errors` of a refused
   * `complete()` it marks those.
   */
  errors(found?: readonly { pointer?: string; detail: string }[]): Fault[]
  /** Goes to the first field that is marked, or else to the first. */
  focus(): void
  /**
   * Chooses by a digit that was pressed elsewhere on the page, such as on its heading, if the form has only one group
   * of buttons. `true`: it did.
   */
  press(event: KeyboardEvent): boolean
}

/**
 * Draws a form, with elements and text alone. Throws a `TypeError` when the schema is not a form, or larger than a
 * person could use: more than 256 fields, 4096 options or 65536 letters, once its references are followed.
 */
export declare function drawForm<Value = any>(schema: unknown, settings?: FormSettings<Value>): DrawnForm<Value>

/**
 * Shows a text of others in an element: in a `bdi`, with a mark for each character that is invisible, reverses the
 * text or piles up on a letter, and for more than three line breaks in a row.
 */
export declare function shown(element: Element, text: unknown): void

/** The same as text: `ann⟨U+200B⟩`. */
export declare function visible(text: unknown): string

/** What a field is drawn with. */
interface About {
  id: string
  /** The field's label. */
  name: string
  describedBy: string
  from: Origin
  value: unknown
  keys: () => boolean
  changed: () => void
}

/** One thing to choose. */
interface Choice {
  value: string | number | boolean
  title: string
  description?: string
  /** The value, where the title could be another's. */
  also?: string
  key?: string
}

interface Control {
  element: HTMLElement
  /** `undefined`: empty. */
  get(): unknown
  /** Why what was typed is not a value. */
  wrong?(): string | undefined
  mark(isWrong: boolean): void
  focus(): void
  press?(event: KeyboardEvent): boolean
}
