/**
 * The only words that reflex knows by itself: words that carry grammar and not a subject. Everything else that it
 * understands, it reads from the tools of the call and from the conversation. All words are in small letters and
 * without accents.
 */
import { stemOf } from './words.ts'

function words(text: string): ReadonlySet<string> {
  return new Set(text.split(/\s+/).filter((word) => word !== ''))
}

/** Words together with their stems, to be found in either form. */
function cues(text: string): ReadonlySet<string> {
  return new Set([...words(text)].flatMap((word) => [word, stemOf(word)]))
}

/** Words that say nothing about what is wanted. */
export const STOP: ReadonlySet<string> = words(`
  a an the this that these those it its he she they them his her their there here i im me my mine we us our ours you
  your yours am is are was were be been being do does did done doing have has had having can could may might must shall
  should will would ll ve re don t s d and or but so if then than as at by for from in into of off on onto out over to
  under up upon with within without about after before between during since until till via per not no nor only just also
  too very really please pls kindly thanks thank thx ok okay yes yeah well now again some any each
  what which who whom whose when where why how let lets want wants wanted need needs needed like wish would love able
  wondering possible quick quickly right away else one ones thing things way something somebody someone anything
  everything etc maybe perhaps actually currently hereby moment possibly simply further more most much many lot bit
  because while though although however both either neither such same other another own ever never always still even
  already yet soon next later back down again go ahead got gonna sure good great fine help take having try
  called named titled said says saying hand exist exists whether wondering sorry bother advance appreciate
  appreciated asap mentioning matching containing concerning regarding involving among`)

/** Parts of verbs that tell one tool from another, although they say nothing elsewhere. */
export const PARTICLES: ReadonlySet<string> = words('on off up down out')

/** Groups of verbs that mean nearly the same to a tool. A word may be in several. */
export const VERB_GROUPS: readonly (readonly string[])[] = [
  'list show display view see browse enumerate all every overview what which many tell look get give',
  'get fetch read retrieve load show display view see describe detail details info what tell look know give',
  'find search look lookup query seek locate',
  'create add make new insert register',
  'delete remove erase drop destroy discard rid',
  'update edit change modify set alter adjust mark',
  'select choose pick',
].map((group) => group.split(' '))

/** Those of them that go along with another verb. */
export const QUALIFIERS: ReadonlySet<string> = words(
  'new all every overview detail details info what which many',
)

/** Words that ask for many or one only if the noun comes right after them. */
export const ASKING: ReadonlySet<string> = cues('what which many')

/** Words by which a tool says that it only looks. */
export const LOOK: ReadonlySet<string> =
  words(`list show display view browse enumerate get fetch read retrieve load
  describe find search lookup look query locate return tell give see all`)

/** Of those, the ones that say that many come back. */
export const MANY: ReadonlySet<string> = words('list browse enumerate search find query all every')

/** Words by which a person says that many are wanted. */
export const MANY_SAID: ReadonlySet<string> = words('all every many')

/** Words by which a tool says that it changes something, whatever else it says. */
export const CHANGE: ReadonlySet<string> =
  words(`create add make insert register delete remove erase drop destroy
  discard update edit change modify set alter adjust send write save move`)

/** Between the name of a parameter and its value. */
export const LINKS: ReadonlySet<string> = words(
  'is are to as be equals equal of at by should must set with the a an being',
)

/** Links that may also be read as the beginning of something else, so that a plain word after them is no value. */
export const LOOSE_LINKS: ReadonlySet<string> = words('of at by with the a an')

/** Where a value made of plain words ends, and where it may end if a thing is still to come. */
export const ENDS: ReadonlySet<string> = words('and with but please thanks where which whose then using')
export const PLACES: ReadonlySet<string> = words('for from in on under into inside within')

export const NAMING: ReadonlySet<string> = words('named called titled labelled labeled')
export const NAME_WORDS: ReadonlySet<string> = cues('name title label subject')
export const ID_WORDS: ReadonlySet<string> = cues('id ids uuid identifier')
export const TEXT_WORDS: ReadonlySet<string> =
  cues(`query search text content message body note comment term phrase
  keyword description question q`)

/** The kinds of values that have a form, by the words with which parameters speak of them. */
export const EMAIL_WORDS: ReadonlySet<string> = cues('email mail')
export const URL_WORDS: ReadonlySet<string> = cues('url uri link website')
export const DATE_WORDS: ReadonlySet<string> = cues('date day datetime time timestamp iso')

/** Of two values of a kind, which is the lower: words before the value, and words in the name of the parameter. */
export const FROM: ReadonlySet<string> = cues(
  'from since after starting start between over above least min minimum',
)
export const TO: ReadonlySet<string> = cues(
  'to until till before ending end and under below most max maximum',
)

export const TRUE: ReadonlySet<string> = words('true yes on enabled')
export const FALSE: ReadonlySet<string> = words('false no off disabled')
export const NEGATION: ReadonlySet<string> = words(
  'not no without never dont except exclude excluding skip non',
)
/** Beginnings of names of yes-or-no parameters that people leave out. */
export const FLAG_WORDS: ReadonlySet<string> = cues('is has should include with be can do')

export const PRONOUNS: ReadonlySet<string> = words('it that this him her them those these one')
/** Ways to go on with what was done before. */
export const AGAIN: ReadonlySet<string> = words('and also same too again likewise now then another')

/** Words for what is chosen, whatever that is. */
export const CURRENT: ReadonlySet<string> = words('active current selected chosen')

/** Words behind which the name of a thing may come. */
export const BEFORE_NAMES: ReadonlySet<string> = words('for of in at on from about called named')

/** `word:other word` for each of the French words. */
function pairs(text: string): ReadonlyMap<string, string> {
  const lines = text.split('\n').filter((line) => line.includes(':'))
  return new Map(
    lines.flatMap((line) => {
      const [english = '', french = ''] = line.split(':')
      return [...words(french)].map((word) => [word, english.trim()] as const)
    }),
  )
}

/** French words that are no English ones: where one of them is said, the text is French. */
export const FRENCH: ReadonlyMap<string, string> = pairs(`
  show: affiche afficher affiches affichez montre montrer montrez donne donner donnez voir
  list: liste lister listez enumere
  which: quel quelle quels quelles
  find: trouve trouver trouvez cherche chercher cherchez recherche rechercher
  select: choisis choisir choisissez selectionne selectionner selectionnez prends prendre prenez
  create: cree creer creez ajoute ajouter ajoutez
  delete: supprime supprimer supprimez efface effacer
  update: modifie modifier modifiez mets mettre mettez
  mark: marque marquer marquez
  done: termine terminee termines terminees fini finie finis finies
  open: ouvert ouverte ouverts ouvertes
  progress: cours
  first: premier premiere
  second: deuxieme seconde
  third: troisieme
  fourth: quatrieme
  fifth: cinquieme
  sixth: sixieme
  seventh: septieme
  eighth: huitieme
  ninth: neuvieme
  tenth: dixieme
  last: dernier derniere
  all: tous toutes
  current: actuel actuelle actif courant courante
  number: numero
  many: combien
  my: mes
  our: notre nos
  your: votre vos
  this: cette cet
  the: une
  of: du
  to: au aux
  and: et
  are: sont
  with: avec
  without: sans
  in: dans
  please: plait svp stp
  want: veux voudrais voudrait
  now: maintenant
  also: aussi
  then: puis ensuite
  cancel: annule annuler
  no: non
  yes: oui`)

/** French words that mean something else in other languages, and count only in a text that is French. */
export const FRENCH_SHORT: ReadonlyMap<string, string> = pairs(`
  the: le la les l un
  of: de des d
  to: a
  or: ou
  for: pour
  in: en
  on: sur
  by: par
  as: comme
  is: est
  who: qui
  that: que qu ce ces c
  i: je j
  you: tu vous te
  me: moi m
  my: mon ma
  your: ton ta tes
  its: son sa ses
  it: il elle celui celle
  s: s
  not: pas ne n
  there: y`)

const ORDINAL_WORDS = 'first second third fourth fifth sixth seventh eighth ninth tenth'.split(' ')
const NUMBER_WORDS = 'two three four five six seven eight nine ten eleven twelve'.split(' ')

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
  const at = NUMBER_WORDS.indexOf(word)
  return at < 0 ? undefined : at + 2
}

export const GREETINGS: ReadonlySet<string> =
  words(`hi hello hey hallo hola bonjour ciao salut moin servus ola greetings
  morning afternoon evening day good howdy`)
export const THANKS: ReadonlySet<string> = words('thanks thank thx merci danke gracias cheers')
export const CANCEL: ReadonlySet<string> = words('cancel nevermind forget stop abort mind no nope nothing')
export const YES: ReadonlySet<string> = words('yes yeah yep ok okay sure correct right exactly ja oui si')

const ABOUT_SELF: readonly RegExp[] = [
  /\b(who|what)(?: (?:\w+ ){0,2}are|'re|re) you\b/,
  /\bare you (?:an? |the )?(?:\w+ )?(?:ai|llm|model|bot|robot|human|person|real|neural|machine|chatgpt|gpt|claude|gemini)\b/,
  /\b(?:what|which) (?:\w+ )?(?:model|llm|ai) (?:are you|is this|do you)\b/,
  /\b(?:your name|about yourself|introduce yourself)\b/,
]

/** Whether a text asks what can be done here. */
export function asksForHelp(folded: string): boolean {
  const short = folded.slice(0, 100)
  return /\bwhat (?:\w+ ){0,2}(?:can|could) you (?:do|help)\b|\bhow (?:can|could) you help\b|^\W*help\W*$/.test(
    short,
  )
}

/** Whether a text asks what it is talking to. */
export function asksAboutSelf(folded: string): boolean {
  const short = folded.slice(0, 300)
  return ABOUT_SELF.some((form) => form.test(short))
}
