/** Everything that reflex says, in English and French. Questions end with a question mark, and nothing else does. */
import type { Json } from '../protocol/index.ts'
import type { Done } from './conversation.ts'
import type { Language } from './lexicon.ts'
import { fieldsOf, type Row, type Scalar } from './rows.ts'
import type { Param, ToolInfo } from './schema.ts'

const ENGLISH = {
  who: 'I am reflex, the model that comes with Holdfast. I am made of rules, not of a neural network: I compare your words with the tools I have, fill in what you said, and ask when something is missing or unclear.',
  hello: 'Hello.',
  unknown:
    'I did not find anything in this that I can do. I am reflex, a model made of rules, and understand requests for my tools.',
  cannot: (verb: string) => `None of my tools can do that: “${verb}”. I am reflex, a model made of rules.`,
  tools: 'This is what I can do:',
  noTools: 'I can only call tools, and I have none here.',
  more: (count: number) => `… and ${count} more`,
  welcome: 'You are welcome.',
  left: 'All right, I leave it.',
  manyTools: (count: number) => `I can read this in ${count} ways:`,
  which: 'Which one do you mean?',
  whichKind: (noun: string) => `Which ${noun}?`,
  noneCalled: (name: string) => `None that I know is called "${name}".`,
  known: 'These are known:',
  needs: (tool: string, param: string, about: string) => `For ${tool} I need ${param}${about}.`,
  among: (values: string) => `It can be ${values}.`,
  whatValue: (param: string) => `What should ${param} be?`,
  leftOver: (words: string) => `I cannot do anything with “${words}”.`,
  meant: (reading: string) => `Do you mean: ${reading}?`,
  failed: (tool: string, why: string) => `${tool} did not work: ${why}`,
  unsettled: (tool: string) =>
    `The outcome of ${tool} is unknown: it was started, and it may or may not have happened. Check before you ask for it again.`,
  done: (tool: string) => `Done: ${tool}.`,
  nothing: (tool: string) => `${tool} found nothing.`,
}

const FRENCH: typeof ENGLISH = {
  who: 'Je suis reflex, le modèle fourni avec Holdfast. Je suis fait de règles, pas d’un réseau de neurones : je compare vos mots aux outils que j’ai, je reprends ce que vous avez dit, et je demande quand il manque quelque chose.',
  hello: 'Bonjour.',
  unknown:
    'Je n’ai rien trouvé là que je sache faire. Je suis reflex, un modèle fait de règles, et je comprends les demandes pour mes outils.',
  cannot: (verb) =>
    `Aucun de mes outils ne sait faire cela : « ${verb} ». Je suis reflex, un modèle fait de règles.`,
  tools: 'Voici ce que je sais faire :',
  noTools: 'Je ne sais qu’appeler des outils, et je n’en ai pas ici.',
  more: (count) => `… et ${count} de plus`,
  welcome: 'Je vous en prie.',
  left: 'D’accord, je laisse.',
  manyTools: (count) => `Je peux comprendre cela de ${count} façons :`,
  which: 'À quoi pensez-vous exactement ?',
  whichKind: (noun) => `${capital(noun)} :`,
  noneCalled: (name) => `rien de ce que je connais ne s’appelle « ${name} ».`,
  known: 'Voici ce que je connais :',
  needs: (tool, param, about) => `Pour ${tool}, il me faut ${param}${about}.`,
  among: (values) => `Valeurs possibles : ${values}.`,
  whatValue: (param) => `Que dois-je mettre pour ${param} ?`,
  leftOver: (words) => `Je ne sais que faire de « ${words} ».`,
  meant: (reading) => `Vous voulez dire : ${reading} ?`,
  failed: (tool, why) => `${tool} n’a pas fonctionné : ${why}`,
  unsettled: (tool) =>
    `L’issue de ${tool} est inconnue : l’appel a commencé, et il a peut-être eu lieu, ou pas. Vérifiez avant de le redemander.`,
  done: (tool) => `Fait : ${tool}.`,
  nothing: (tool) => `${tool} n’a rien trouvé.`,
}

const MOST_LINES = 20
const LONGEST_VALUE = 300

export class Wording {
  readonly language: Language
  readonly #say: typeof ENGLISH

  constructor(language: Language) {
    this.language = language
    this.#say = language === 'fr' ? FRENCH : ENGLISH
  }

  get welcome(): string {
    return this.#say.welcome
  }

  get left(): string {
    return this.#say.left
  }

  who(tools: readonly ToolInfo[]): string {
    return `${this.#say.who}\n\n${this.tools(tools)}`
  }

  hello(tools: readonly ToolInfo[]): string {
    return `${this.#say.hello} ${this.tools(tools)}`
  }

  unknown(tools: readonly ToolInfo[]): string {
    return `${this.#say.unknown} ${this.tools(tools)}`
  }

  cannot(verb: string, tools: readonly ToolInfo[]): string {
    return `${this.#say.cannot(verb)} ${this.tools(tools)}`
  }

  tools(tools: readonly ToolInfo[]): string {
    if (tools.length === 0) return this.#say.noTools
    return `${this.#say.tools}\n${this.#lines(
      tools.map((tool) => `- ${describe(tool)}`),
      '- ',
    )}`
  }

  askTool(tools: readonly ToolInfo[]): string {
    const [only] = tools
    if (tools.length === 1 && only) return this.#say.meant(`${only.name}${aboutOf(only)}`)
    const lines = tools.map((tool, at) => `${at + 1}. ${describe(tool)}`)
    return `${this.#say.manyTools(tools.length)}\n${lines.join('\n')}\n${this.#say.which}`
  }

  /** Which thing of a kind that has a name: one of those that are known, if there are any. */
  askThing(noun: string, { rows, said }: { readonly rows: readonly Row[]; readonly said: string }): string {
    const { whichKind, noneCalled, known, which } = this.#say
    const missed = said === '' ? [] : [noneCalled(shorten(said, 80))]
    if (rows.length === 0)
      return [
        ...(this.language === 'en' ? [] : [whichKind(noun)]),
        ...missed,
        this.language === 'en' ? which.replace('one', noun) : which,
      ].join(' ')
    return `${[whichKind(noun), ...missed, known].join(' ')}\n${this.#rows(rows)}\n${which}`
  }

  askRow(
    tool: ToolInfo,
    param: Param,
    { rows, said }: { readonly rows: readonly Row[]; readonly said: string },
  ): string {
    const { needs, noneCalled, known, which } = this.#say
    const missed = said === '' ? [] : [capital(noneCalled(shorten(said, 80)))]
    return `${[needs(tool.name, param.name, ''), ...missed, known].join(' ')}\n${this.#rows(rows)}\n${which}`
  }

  askParam(tool: ToolInfo, param: Param, options: readonly Json[] = []): string {
    const given = options.length > 0 ? options : (param.choices ?? param.items?.choices ?? [])
    const among =
      given.length === 0 ? [] : [this.#say.among(given.slice(0, MOST_LINES).map(String).join(', '))]
    return [
      this.#say.needs(tool.name, param.name, aboutOf(param)),
      ...among,
      this.#say.whatValue(param.name),
    ].join(' ')
  }

  /** Words of the request that a call would leave out, and the call. */
  askWithout(words: string, { name }: ToolInfo, values: readonly string[]): string {
    const { leftOver, meant } = this.#say
    const reading = values.length === 0 ? name : `${name} (${shorten(values.join(', '), LONGEST_VALUE)})`
    return `${leftOver(shorten(words, 80))} ${meant(reading)}`
  }

  trouble({ tool, output, display, isUnknown }: Done): string {
    if (isUnknown) return this.#say.unsettled(tool)
    const why = display ?? (typeof output === 'string' ? output : this.#value(output))
    return this.#say.failed(tool, shorten(why, 1000))
  }

  results(calls: readonly Done[]): string {
    return calls.map((call) => this.#result(call)).join('\n\n')
  }

  #result({ tool, output, display: told }: Done): string {
    if (told !== undefined) return told
    if (output === null || output === undefined || output === '' || output === true)
      return this.#say.done(tool)
    if (Array.isArray(output) && output.length === 0) return this.#say.nothing(tool)
    const display = isObject(output) ? output['display'] : undefined
    const text = typeof display === 'string' && display !== '' ? display : this.#value(output)
    return text === '' ? this.#say.done(tool) : text
  }

  #rows(rows: readonly Row[]): string {
    return this.#lines(rows.map(({ label, id }, at) => `${at + 1}. ${titled(label, id)}`))
  }

  #lines(lines: readonly string[], lead = ''): string {
    const more = lines.length > MOST_LINES ? [`${lead}${this.#say.more(lines.length - MOST_LINES)}`] : []
    return [...lines.slice(0, MOST_LINES), ...more].join('\n')
  }

  #value(value: unknown, depth = 0): string {
    if (Array.isArray(value))
      return this.#lines(
        value.map((each) => `- ${sayItem(each, depth)}`),
        '- ',
      )
    if (!isObject(value)) return shorten(String(value), depth === 0 ? 10_000 : LONGEST_VALUE)
    const fields = Object.entries(value).slice(0, 100)
    return fields.map(([key, each]) => this.#field(key, each, depth)).join('\n')
  }

  #field(key: string, value: unknown, depth: number): string {
    if (typeof value !== 'object' || value === null) return `${key}: ${shorten(String(value), LONGEST_VALUE)}`
    if (Array.isArray(value) && value.length === 0) return `${key}: –`
    if (depth >= 2) return `${key}: ${shorten(JSON.stringify(value), LONGEST_VALUE)}`
    return `${key}:\n${this.#value(value, depth + 1).replaceAll(/^/gm, '  ')}`
  }
}

function capital(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`
}

function describe({ name, description }: ToolInfo): string {
  const text = oneLine(description)
  return text === '' ? name : `${name}: ${shorten(text, 200)}`
}

function aboutOf({ description }: Pick<Param, 'description'>): string {
  return description === '' ? '' : ` (${shorten(oneLine(description).replace(/[.?]$/, ''), 200)})`
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim()
}

/** One line: the name first, then the id, then the rest. */
function sayItem(value: unknown, depth: number): string {
  if (!isObject(value))
    return shorten(typeof value === 'string' ? value : JSON.stringify(value), LONGEST_VALUE)
  const { fields, idKey, label } = fieldsOf(value)
  const id = idKey === undefined ? undefined : fields.get(idKey)
  const head = label === '' ? String(id ?? '') : titled(label, id)
  const rest = [...fields].filter(([key, each]) => key !== idKey && each !== label).slice(0, 6)
  const tail = rest.map(([key, each]) => `${key}: ${shorten(String(each), 120)}`)
  const said = [...(head === '' ? [] : [head]), ...tail].join(', ')
  return said === '' ? shorten(JSON.stringify(value), depth === 0 ? LONGEST_VALUE : 120) : said
}

function titled(label: string, id: Scalar | undefined): string {
  return id === undefined || String(id) === label ? label : `${label} (${id})`
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function shorten(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most).toWellFormed()}…`
}
