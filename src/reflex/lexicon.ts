/**
 * The words that reflex knows by itself, in English and French: grammar, families of verbs, and everyday nouns. Everything
 * else that it understands, it reads from the tools of the call and from the conversation. All words are in small letters
 * and without accents.
 */
import { GRAMMAR, IDIOMS, NOUNS, VERBS } from './families.ts'
import { stemOf } from './words.ts'

export type Words = ReadonlySet<string>
export type Language = 'en' | 'fr'

function words(text: string): Words {
  return new Set(text.split(/\s+/).filter((word) => word !== ''))
}

/** Words together with their stems, to be found in either form. */
function cues(text: string): Words {
  return new Set([...words(text)].flatMap((word) => [word, stemOf(word)]))
}

/** Words that say nothing about what is wanted; French ones are read as English ones first. */
export const STOP: Words = words(`
  a an the this that these those it its he she they them his her their there here i im me my mine we us our ours you your
  yours am is are was were be been being do does did doing have has had having can could may might must shall should
  will would ll ve re m don doesn didn isn t s d and or but so if then than as at by for from in into of off on onto out
  over to under up upon with within without inside about after before between during since until till via per not no nor
  only just also too very really please pls plz kindly thanks thank thx ty ok okay yes yeah yep well now again some any
  each both either what which who whom whose when where why how let lets want wants wanted wanna need needs needed like
  wish love able wondering possible possibly quick quickly right away else one ones thing things stuff way something
  somebody someone anything everything etc maybe perhaps actually currently hereby moment simply further more most much
  many lot bit because while though although however neither such same other another own ever never always still even
  already yet soon next later back down go goes going gone went ahead got gotten gonna gotta sure ensure good great fine nice
  cool perfect awesome help take try dear assistant bot mate buddy called named titled said says saying hand exist exists
  whether sorry bother advance appreciate appreciated asap mentioning matching containing concerning regarding involving
  among following today tonight immediately instantly urgently straight finally anyway hmm hm uh um oh ah hey yo u ur rush
  hurry pretty lovely mean meant say number guess think believe hope seems single brand whole entire full available kind
  sort current latest existing job favour favor minute minutes hour hours sec hello hi belong belongs belonging whats hows wheres whos theres rather
  instead result contain contains around everyone anyone nobody mind exactly basically kinda sorta alright cheers
  nothing forget remember honestly anymore longer feel free chance using use used ready interested curious once together whoever whatever whichever
  everybody content contents gimme lemme wonder total totally super actual entire overall various several
  certain specific particular relevant related recent definitely absolutely certainly obviously literally finally recently
  previously earlier lately meanwhile afterwards altogether regrettably unfortunately accordingly therefore hence hiya dude man
  guys folks bro sir madam lol tho btw rn oops whoops ooh aha stuff far alright entitled concerned following further units unit
  piece pieces copies item's happen given quite exact u r im ive id ill theyre youre thats cant wont couldnt wouldnt shouldnt lets
  isnt arent wasnt enough coming upcoming scheduled equals equal`)

/** Little words that change what is asked for: they deny, count, narrow, doubt, or put off. */
export const WEIGHTY: Words = words(`
  not no never don t dont doesn didn isn nothing nobody anymore
  or either neither nor than
  several certain various half whole entire enough other else same different
  recent recently latest available related relevant particular interested similar whoever whatever whichever
  maybe perhaps almost nearly
  already yet still ever always previously earlier ago later soon tonight minute minutes sec hour hours upcoming coming`)
/** Words for many, explained by a tool that takes no single thing. */
export const QUANTITY: Words = words('all every each any everything anything everyone anyone everybody')
/** Words that tie an order to something, wherever they stand. */
export const TYING: Words = words('if unless when whenever until till once')

interface Family {
  readonly english: readonly string[]
  readonly french: readonly string[]
}

function families(text: string): Family[] {
  return text
    .trim()
    .split(/\n(?! )/)
    .map((line) => {
      const [english = '', french = ''] = line.split('|')
      return { english: [...words(english)], french: [...words(french)].flatMap(formsOf) }
    })
}

const ENDINGS =
  'e es er ez ons ent ee ees i is ir it issez ie ies re s ant ais ait iez ions a era erai erais erait eriez erez eront iriez isse issiez'.split(
    ' ',
  )

function formsOf(word: string): string[] {
  return word.endsWith('-') ? ENDINGS.map((ending) => word.slice(0, -1) + ending) : [word]
}

/** For each language, the families that a word is in; English ones by their stem. */
type Index = Readonly<Record<Language, ReadonlyMap<string, readonly string[]>>>

function indexOf(all: readonly Family[], isNoun: boolean): Index {
  const index = { en: new Map<string, string[]>(), fr: new Map<string, string[]>() }
  const add = (map: Map<string, string[]>, word: string, name: string): void => {
    const known = map.get(word)
    if (known === undefined) map.set(word, [name])
    else if (!known.includes(name)) known.push(name)
  }
  for (const { english, french } of all) {
    const name = `${isNoun ? '=' : '!'}${english[0]}`
    for (const word of english) add(index.en, stemOf(word), name)
    for (const word of french)
      for (const form of isNoun ? [word, `${word}s`] : [word]) add(index.fr, form, name)
  }
  return index
}

const VERB_INDEX = indexOf(families(VERBS), false)
const NOUN_INDEX = indexOf(families(NOUNS), true)
/** Families that only look. */
export const LOOKING: Words = words('!look !search !read !detail !count !compute !track')

/** The families of verbs or of nouns that a word is in, in its language or else in the other one. */
export function verbsOf(word: string, stem: string, language: Language): readonly string[] {
  const found = familiesIn(VERB_INDEX, { word, stem }, language)
  return language === 'en' && !VERB_INDEX.en.has(stem) ? [] : found
}

export function nounsOf(word: string, stem: string, language: Language): readonly string[] {
  return familiesIn(NOUN_INDEX, { word, stem }, language)
}

function familiesIn(
  index: Index,
  { word, stem }: { readonly word: string; readonly stem: string },
  language: Language,
): readonly string[] {
  const english = index.en.get(stem)
  const french = index.fr.get(word)
  return (language === 'fr' ? (french ?? english) : (english ?? french)) ?? []
}

export function isKnownWord(word: string, stem: string): boolean {
  return (
    IDIOM_WORDS.has(word) ||
    [VERB_INDEX, NOUN_INDEX].some(({ en, fr }) => en.has(stem) || fr.has(word)) ||
    FRENCH_GRAMMAR.has(word)
  )
}

/** Every word that is known by itself, by its first letter: a typing error is read as the nearest of them. */
export function knownWords(letter: string, language: Language): readonly string[] {
  return COMMON[language].get(letter) ?? []
}

/** Little French words, by the English ones that stand for them. */
export const FRENCH_GRAMMAR: ReadonlyMap<string, string> = new Map(
  GRAMMAR.split(';').flatMap((line) => {
    const [english = '', french = ''] = line.split(':')
    return [...words(french)].map((word): [string, string] => [word, english.trim()])
  }),
)

const ORDINAL_WORDS = 'first second third fourth fifth sixth seventh eighth ninth tenth'.split(' ')

const COMMON: Readonly<Record<Language, ReadonlyMap<string, readonly string[]>>> = (() => {
  const all = [VERBS, NOUNS].flatMap(families)
  const byLetter = (list: Iterable<string>): Map<string, string[]> =>
    Map.groupBy(new Set(list), (word) => word[0] ?? '')
  return {
    en: byLetter([...STOP, ...ORDINAL_WORDS, ...all.flatMap(({ english }) => english)]),
    fr: byLetter([...FRENCH_GRAMMAR.keys(), ...all.flatMap(({ french }) => french)]),
  }
})()

export interface Idiom {
  readonly meaning: string
  /** A star stands for a few words. */
  readonly parts: readonly string[]
}

/** By their first word, the longest first. */
export const IDIOM_INDEX: ReadonlyMap<string, readonly Idiom[]> = Map.groupBy(
  IDIOMS.trim()
    .split(/\n(?! )/)
    .flatMap((line): Idiom[] => {
      const [meaning = '', phrases = ''] = line.split(':')
      return phrases.split('|').map((phrase) => ({ meaning, parts: [...phrase.trim().split(/\s+/)] }))
    })
    .sort((a, b) => b.parts.length - a.parts.length),
  ({ parts }) => parts[0] ?? '',
)

const IDIOM_WORDS: Words = words(
  [...IDIOM_INDEX.values()].flatMap((idioms) => idioms.flatMap(({ parts }) => parts)).join(' '),
)

/** Verbs that are often said of something else: they never exclude a tool. */
export const LIGHT: Words = cues(`
  make list get give take start begin see have do use look tell know check note new run open close end water plan
  book order call mail email fire sign record lower track return share play post cool split say contain detail details info
  infos information status enter go include overview summary fait font fais detail stick pop throw file log comment
  answer reply sum many everything all every read text present work donne suis fix heat tag flag pin wrap sort settle bin clear`)
/** Verbs that are explained wherever they stand. */
export const QUIET: Words = new Set(
  [...LIGHT, ...cues('put set turn switch mark move dit dis dites dire')].filter((word) => word !== 'new'),
)
/** Words that say when: no value goes on with them, and they are not left out. */
export const WHEN: Words = words(
  'tomorrow yesterday tonight weekend monday tuesday wednesday thursday friday saturday sunday demain hier lundi mardi mercredi jeudi vendredi samedi dimanche',
)
/** Words that name nothing. */
export const NAMELESS: Words = words('all every each both new last')
/** Words that ask for something to look at. */
export const ASKING: Words = words('what which many where who any how whats wheres whos hows')
/** Words by which a tool says that many come back, and by which a person says that many are wanted. */
export const MANY: Words = words('list browse enumerate search find query all every lister chercher')

/** Between the name of a parameter and its value. */
export const LINKS: Words = words('is are to as be equals equal of at by should must set with the a an being')
/** Links after which a plain word is no value. */
export const LOOSE_LINKS: Words = words('of at by with the a an')
/** Where a value made of plain words ends, and where it may end if a thing is still to come. */
export const ENDS: Words = words(
  'and with but please thanks where which whose then using that says saying reading',
)
export const PLACES: Words = words('for from in on under into inside within to')

export const NAMING: Words = words('named called titled labelled labeled')
export const NAME_WORDS: Words = cues('name title label subject nom titre')
export const ID_WORDS: Words = cues('id ids uuid identifier identifiant')
export const TEXT_WORDS: Words =
  cues(`query search text content message body note comment term phrase keyword description
  question q texte contenu requete`)
export const PLACE_WORDS: Words = cues(
  'city town place location country region area address where ville lieu pays room',
)
export const EXPRESSION_WORDS: Words = cues('expression formula equation calculation math sum calcul')

/** The kinds of values that have a form, by the words with which parameters speak of them. */
export const EMAIL_WORDS: Words = cues('email mail courriel')
export const URL_WORDS: Words = cues('url uri link website')
export const DATE_WORDS: Words = cues('date day datetime timestamp iso')

/** Of two values of a kind, which is the lower: words before the value, and words in the name of the parameter. */
export const FROM: Words = cues('from since after starting start between over above least min minimum')
export const TO: Words = cues('to until till before ending end and under below most max maximum')

export const TRUE: Words = words('true yes on enabled')
export const FALSE: Words = words('false no off disabled')
export const NEGATION: Words = words('not no without never dont isnt t except exclude excluding skip non')
/** Beginnings of names of yes-or-no parameters that people leave out. */
export const FLAG_WORDS: Words = cues('is has should include with be can do')

export const PRONOUNS: Words = words('it that this him her them those these one')
/** Ways to go on with what was done before. */
export const AGAIN: Words = words('and also same too again likewise now then another')
/** Words for what is chosen, whatever that is. */
export const CURRENT: Words = words('active current selected chosen')
/** Words behind which the name of a thing may come. */
export const BEFORE_NAMES: Words = words('for of in at on from about called named to with inside under')
/** Words right before a noun. */
export const BEFORE_NOUNS: Words = words(
  'the a an my our your his her their its this that these those of for from in with about on at by some any each every all no which what',
)
export const AUXILIARY: Words = words('be been get gets got is are was were have has having it them')

export const GREETINGS: Words =
  words(`hi hello hey hallo hola bonjour bonsoir ciao salut moin servus ola greetings
  morning afternoon evening day good night howdy coucou bye goodbye nuit soiree journee revoir yo`)
/** Greetings and thanks that only French has. */
export const FRENCH_GREETINGS: Words = words('bonjour bonsoir salut coucou merci nuit revoir')
export const THANKS: Words = words('thanks thank thx merci danke gracias cheers')
export const CANCEL: Words = words(
  'cancel nevermind forget stop abort mind no nope nothing leave laisse tomber annule oublie rien',
)
export const YES: Words = words(
  'yes yeah yep ok okay sure correct right exactly ja oui si go please do daccord vas y',
)

const NUMBER_WORDS =
  `two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen
  nineteen twenty`.split(/\s+/)
const TENS = [
  'thirty trente',
  'forty quarante',
  'fifty cinquante',
  'sixty soixante',
  'seventy',
  'eighty',
  'ninety',
  'hundred cent',
].map(words)

/** Which one of a list a word means, from 0 on; -1 is the last. */
export function ordinalOf(word: string): number | undefined {
  if (word === 'last') return -1
  const at = ORDINAL_WORDS.indexOf(word)
  if (at >= 0) return at
  const digits = /^(\d{1,3})(?:st|nd|rd|th|er|ere|e|eme|ieme)$/.exec(word)
  return digits ? Number(digits[1]) - 1 : undefined
}

/** One is not among them: it is a pronoun far more often. */
export function numberWord(word: string): number | undefined {
  const at = NUMBER_WORDS.indexOf(FRENCH_GRAMMAR.get(word) ?? word)
  const tens = TENS.findIndex((each) => each.has(word))
  return at >= 0 ? at + 2 : tens < 0 ? undefined : 10 * (tens + 3)
}

const HELP =
  /\bwhat (?:\w+ ){0,2}(?:can|could) (?:you|i) (?:do|help|ask)\b|\bhow (?:can|could|do) (?:you|i) (?:help|use)\b|\bhow does this work\b|^\W*(?:help|aide|aidez-moi|aide-moi|a l'aide)\W*$|\bque (?:sais|peux|savez|pouvez)[- ](?:tu|vous) faire\b|\b(?:tu sais|tu peux|vous pouvez) faire quoi\b|\bqu'est[- ]ce que (?:tu|vous) (?:sais|peux|savez|pouvez) faire\b|\bcomment (?:ca|cela) (?:marche|fonctionne)\b/
const ABOUT_SELF = [
  /\b(who|what)(?: (?:\w+ ){0,2}are|'re|re) you\b/,
  /\bare you (?:an? |the )?(?:\w+ )?(?:ai|llm|model|bot|robot|human|person|real|neural|machine|chatgpt|gpt|claude|gemini)\b/,
  /\b(?:what|which) (?:\w+ )?(?:model|llm|ai) (?:are you|is this|do you)\b/,
  /\b(?:your name|about yourself|introduce yourself)\b/,
  /\b(?:qui|qu'est-ce que) (?:es[- ]tu|etes[- ]vous|tu es|vous etes)\b|\bt(?:u es|'es) qui\b|\b(?:es[- ]tu|etes[- ]vous) (?:une? )?(?:ia|humain|robot|machine|modele|personne)/,
  /\bquel (?:modele|ia) (?:es[- ]tu|etes[- ]vous)\b|\bpresente[- ]toi\b|\bcomment (?:t'appelles[- ]tu|tu t'appelles|vous appelez)/,
]

const SMALL_TALK =
  /^\W*(?:(?:hey|hi|hello|so|and|salut|bonjour|coucou|slt)\W+)*(?:how (?:are|r) (?:you|u|things)|how(?:'s| is|s) (?:it going|life|your (?:day|night|morning|weekend)|everything)|what'?s up|sup|ca va|comment (?:ca va|vas[- ]tu|allez[- ]vous|tu vas)|tu vas bien|vous allez bien)\b/

/** Whether a folded text asks how one is. */
export function isSmallTalk(folded: string): boolean {
  return folded.length < 60 && SMALL_TALK.test(folded.replaceAll('’', "'"))
}

/** Whether a folded text asks what can be done here. */
export function asksForHelp(folded: string): boolean {
  return HELP.test(folded.slice(0, 100).replaceAll('’', "'"))
}

/** Whether a folded text asks what it is talking to. */
export function asksAboutSelf(folded: string): boolean {
  const short = folded.slice(0, 300).replaceAll('’', "'")
  return ABOUT_SELF.some((form) => form.test(short))
}
