/**
 * The words that reflex knows by itself: grammar, common verbs and everyday nouns, in English and French. Everything else
 * that it understands, it reads from the tools of the call and from the conversation. All words are in small letters and
 * without accents.
 */
import { stemOf } from './words.ts'

type Words = ReadonlySet<string>

function words(text: string): Words {
  return new Set(text.split(/\s+/).filter((word) => word !== ''))
}

/** Words together with their stems, to be found in either form. */
function cues(text: string): Words {
  return new Set([...words(text)].flatMap((word) => [word, stemOf(word)]))
}

/** Words that say nothing about what is wanted. */
export const STOP: Words = words(`
  a an the this that these those it its he she they them his her their there here i im me my mine we us our ours you
  your yours am is are was were be been being do does did doing have has had having can could may might must shall
  should will would ll ve re don t s d and or but so if then than as at by for from in into of off on onto out over to
  under up upon with within without inside about after before between during since until till via per not no nor only just
  also too very really please pls kindly thanks thank thx ok okay yes yeah well now again some any each both either
  what which who whom whose when where why how let lets want wants wanted need needs needed like wish love able
  wondering possible quick quickly right away else one ones thing things way something somebody someone anything
  everything etc maybe perhaps actually currently hereby moment possibly simply further more most much many lot bit
  because while though although however neither such same other another own ever never always still even
  already yet soon next later back down go ahead got gonna gotta sure good great fine nice help take try dear assistant
  called named titled said says saying hand exist exists whether sorry bother advance appreciate
  appreciated asap mentioning matching containing concerning regarding involving among following
  today tonight immediately instantly urgently straight finally anyway hmm hm uh um oh ah hey
  rush hurry pretty lovely mean say number guess think believe hope seems single brand whole entire full available
  kind sort current latest existing own job favour favor minute hello hi
  going belong belongs whats hows wheres theres meant rather instead result answer contain contains around everyone anyone nobody`)

/** Parts of verbs that tell one tool from another, although they say nothing elsewhere. */
export const PARTICLES: Words = words('on off up down out')

/** Groups of verbs that mean nearly the same to a tool; a word may be in several. The first four groups only look. */
const LOOKING = `
  list show display view see browse enumerate retrieve fetch load all every overview what which many tell look get
  give check; get fetch read retrieve load show display view see describe detail details info what where who tell
  look know give open check; find search look lookup query seek locate; calculate compute evaluate solve calc`
const CHANGING = `
  create add make new insert register record write save note generate put schedule plan arrange; delete remove
  erase drop destroy discard trash cancel clear; update edit change modify set alter adjust mark turn put correct;
  complete finish close done tick resolve; select choose pick switch use open take activate enter; send mail email
  forward transmit write; order buy purchase place; book reserve schedule plan arrange; move transfer shift relocate
  put; rename retitle; copy duplicate clone; start begin launch run execute trigger play resume; stop halt end
  pause; switch turn; close shut; increase raise; decrease lower reduce; approve accept confirm; reject decline
  refuse; restart reboot; call phone ring; publish post`
/** Verbs that no other word stands for. */
const ALONE = `pay assign share upload download export import install archive translate remind invite reset deploy convert
  lock unlock merge split attach restore undo refund subscribe unsubscribe follow block mute repair summarise summarize
  print empty explain compare sort water feed heat cool wash clean ship deliver return track sign draw paint sell rent hire fire`

export const VERB_GROUPS: readonly (readonly string[])[] = [
  ...`${LOOKING};${CHANGING}`.split(';'),
  ...words(ALONE),
].map((group) => [...words(group)])

/** Those that go along with another verb. */
export const QUALIFIERS: Words = words('new all every overview detail details what which many where who done')
/** Words that ask for many or one only if the noun comes right after them. */
export const ASKING: Words = cues('what which many where who')
/** Words by which a tool says that it only looks. */
export const LOOK: Words =
  words(`list show display view browse enumerate get fetch read retrieve load describe find search
  lookup look query locate return tell give see all calculate compute evaluate current`)
/** Of those, the ones that say that many come back. */
export const MANY: Words = words('list browse enumerate search find query all every')
/** Words by which a person says that many are wanted. */
export const MANY_SAID: Words = words('all every many')
/** Words by which a tool says that it changes something, whatever else it says. */
export const CHANGE: Words =
  words(`create add make insert register record delete remove erase drop destroy discard update
  edit change modify set alter adjust send write save move order buy purchase book reserve cancel rename`)
/** Verbs that are often said of something else: they never exclude a tool. */
export const LIGHT: Words = words(
  'make list get give take put start begin see have do use look tell know check what which many all every note new run open close end turn water plan book order call mail email fire sign record lower track return share play post cool split',
)

/** Between the name of a parameter and its value. */
export const LINKS: Words = words('is are to as be equals equal of at by should must set with the a an being')
/** Links after which a plain word is no value. */
export const LOOSE_LINKS: Words = words('of at by with the a an')
/** Where a value made of plain words ends, and where it may end if a thing is still to come. */
export const ENDS: Words = words('and with but please thanks where which whose then using')
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
export const NEGATION: Words = words('not no without never dont except exclude excluding skip non')
/** Beginnings of names of yes-or-no parameters that people leave out. */
export const FLAG_WORDS: Words = cues('is has should include with be can do')

export const PRONOUNS: Words = words('it that this him her them those these one')
/** Ways to go on with what was done before. */
export const AGAIN: Words = words('and also same too again likewise now then another')
/** Words for what is chosen, whatever that is. */
export const CURRENT: Words = words('active current selected chosen')
/** Words behind which the name of a thing may come. */
export const BEFORE_NAMES: Words = words('for of in at on from about called named to with inside under')
/** Words right before a noun, and before the participle of a verb that asks for something. */
export const BEFORE_NOUNS: Words = words(
  'the a an my our your his her their its this that these those of for from in with about on at by some any each every all no',
)
export const AUXILIARY: Words = words('be been get gets got is are was were have has having it them')

/** Greetings and thanks that only French has. */
export const FRENCH_GREETINGS: Words = words('bonjour bonsoir salut coucou merci')

export const GREETINGS: Words =
  words(`hi hello hey hallo hola bonjour bonsoir ciao salut moin servus ola greetings
  morning afternoon evening day good howdy coucou`)
export const THANKS: Words = words('thanks thank thx merci danke gracias cheers')
export const CANCEL: Words = words('cancel nevermind forget stop abort mind no nope nothing leave')
export const YES: Words = words(
  'yes yeah yep ok okay sure correct right exactly ja oui si go please do daccord',
)

/** Several words that stand for one verb, or for nothing. */
export const IDIOMS: ReadonlyMap<string, readonly (readonly string[])[]> = idioms({
  delete: 'get rid of | throw away | throw out | se debarrasser de | debarrasse toi de | debarrasse moi de',
  cancel: 'call off',
  show: `run me through | walk me through | take me through | pull up | bring up | have a look at | take a look at | let
    me see | go over | fais voir | faites voir | fais moi voir | jette un oeil | passe en revue | je peux voir |
    look at`,
  find: 'look for | look up | hunt for',
  select: `switch to | switch over to | change to | go to | move to | move over to | move on to | work on | go with | jump
    to | go into | switch into | passe a | passe au | passe aux | passe sur | passer a | passer au | passer sur |
    passez a | passez au | passez sur | bascule sur | basculer sur | va sur | va dans | aller sur | change de projet
    pour | travailler sur | on passe a | on passe au | on passe sur | let us work on | je prends | on prend | place
    toi sur | mets toi sur`,
  complete: 'tick off | check off | cross off | wrap up',
  create: 'set up | jot down | write down | note down | put down | put together',
  update: 'mets a jour | mettre a jour | mettez a jour',
  many: 'how many',
  what: 'qu est ce que | qu est ce qu | c est quoi | il y a quoi',
  named: 'known as | by the name of | qui s appelle',
  which: `are there | is there | do we have | do i have | have we got | y a t il | il y a | as t on | a t on | avons nous |
    ai je | on a | est ce qu il y a | est ce que j ai`,
  weather:
    'le temps qu il fait | temps qu il fait | il fait quel temps | quel temps fait il | quel temps fera t il | quel temps il fait',
  '': `what about | how about | changed my mind | see to it | see to | see that | make sure | go ahead | that is all | that s all | first of all | after all | at all | at once | right away | as soon as possible | as well | for good | of course | for me | for us | by the way | a bit | no rush | s il te plait | s il vous plait | est ce que | tout de suite | bien sur | en fait | d accord | de suite | pour moi | pour nous | ca serait | ce serait | j ai besoin de | j aurais besoin de | j ai envie de | des que possible | je te prie | je vous prie | to do with | out of`,
})

function idioms(
  table: Readonly<Record<string, string>>,
): ReadonlyMap<string, readonly (readonly string[])[]> {
  const found = new Map<string, string[][]>()
  for (const [verb, text] of Object.entries(table)) {
    for (const phrase of text.split('|')) {
      const parts = [...phrase.trim().split(/\s+/)]
      const first = parts[0] ?? ''
      found.set(first, [...(found.get(first) ?? []), [verb, ...parts]])
    }
  }
  for (const list of found.values()) list.sort((a, b) => b.length - a.length)
  return found
}

const ENDINGS = 'e es er ez ons ent ee ees i is ir it issez ie ies re s ant'.split(' ')

/** `english words: french words; …`. A dash stands for all endings. */
function dictionary(text: string): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, readonly string[]>()
  for (const line of text.replaceAll(/\s+/g, ' ').split(';')) {
    const [english = '', french = ''] = line.split(':')
    const meanings = english.trim().split(' ')
    for (const word of words(french)) {
      const forms = word.endsWith('-') ? ENDINGS.map((ending) => word.slice(0, -1) + ending) : [word]
      for (const form of forms) if (!found.has(form)) found.set(form, meanings)
    }
  }
  return found
}

/** Little French words, by the English ones that stand for them. */
export const FRENCH_GRAMMAR: ReadonlyMap<string, readonly string[]> = dictionary(`
  the: le la les l un une; of: de des d du; to: a au aux; for: pour; in: en dans chez; on: sur; by: par; as:
  comme; is: est soit serait font vaut; are: sont suis es sommes; who: qui; where: ou; that: que qu ce c ca cela
  ceci; these: ces; this: cette cet; i: je j; you: tu vous te toi t; we: nous on; me: moi m; my: mon ma mes; our:
  notre nos; your: votre vos ton ta tes; its: son sa ses leur leurs; it: il elle celui celle lui ils elles; s: s
  se; not: pas ne n; never: jamais; without: sans; there: y; and: et; with: avec; now: maintenant desormais; also:
  aussi; then: puis ensuite; but: mais donc alors; please: plait svp stp; want: veux voudrais voudrait veut voulez
  aimerais aimerait souhaite souhaiterais faut faudrait besoin; can: peux peut pouvez pourrais pourriez pourrait;
  all: tous toutes tout toute; every: chaque; which: quel quelle quels quelles lequel laquelle; what: quoi; many:
  combien; how: comment; why: pourquoi; if: si; should: dois doit devrais devrait devons; no: non; yes: oui ouais;
  again: encore; named: nomme nommee appele appelee appelle intitule intitulee; here: ici voici voila; have: ai as
  avons avez ont avoir; be: etre; very: tres bien vite; thanks: merci; other: autre autres; same: meme; first:
  premier premiere 1er 1ere; second: deuxieme seconde second; third: troisieme; fourth: quatrieme; fifth:
  cinquieme; sixth: sixieme; seventh: septieme; eighth: huitieme; ninth: neuvieme; tenth: dixieme; last: dernier
  derniere; number: numero; current: actuel actuelle actif active courant courante; today: aujourdhui hui aujourd;
  two: deux; three: trois; four: quatre; five: cinq; six: six; seven: sept; eight: huit; nine: neuf; ten: dix`)

/** French verbs, and everyday nouns with the English ones that tools may use for them, best first. */
export const FRENCH: ReadonlyMap<string, readonly string[]> = dictionary(`
  show: affich- montr- donn- voir vois voyez present- visualis- consult- dis dites; list: list- enumer- liste
  listes; read: lis lire lisez lit; get: recuper- obten- obtiens; open: ouvr- ouvert ouverte ouverts ouvertes;
  find: trouv- retrouv- cherch- recherch-; select: chois- selectionn- prends prendre prenez prend; create: cre- fabriqu-; make: fais faire faites; add: ajout- rajout- inser- insere; write: ecris ecrire ecrivez redig-; note: not-;
  record: enregistr-; delete: supprim- effac- enlev- retir- vire virer elimin-; update: modifi- corrig- actualis-;
  change: chang-; set pay: regl-; set: fix- defin- definis; put: mets mettre mettez met mettons; mark: marqu- coch-; place mark: pass-; complete: complet- achev- clotur-; done: termin- fini finie finis finies fait faite faites finir; close:
  ferm-; send: envoi- envoy- expedi-; order: command- commande commandes; buy: achet- achete; book: reserv- livre
  livres; schedule: planifi- programm-; cancel: annul-; move: deplac- transfer- transfere boug-; rename: renomm-;
  copy: copi- dupliqu-; start: demarr- lanc- commenc-; stop: arret- stopp-; turn+on: allum-; turn+off: etein-
  eteign- eteindre eteins eteint; pay: pay- paie paies; refund: rembours-; empty: vid-; new: nouveau nouvelle nouveaux nouvelles; go: va vais allons aller; rather: plutot; translate: tradui-; convert: convert-; assign:
  assign- affect- attribu-; share: partag-; archive: archiv-; print: imprim-; publish: publi-; approve: approuv-
  valid-; reject: rejet- refus-; lock: verrouill-; unlock: deverrouill-; call: appel- telephon-; remind: rappel-;
  calculate: calcul-; increase: augment- mont-; lower: baiss- diminu- redui-; restore: restaur-; export: export-;
  import: import-; download: telecharg-; track: suis suivre suivez suivi; return: renvoi- retourn-; use: utilis-
  emploi-; explain: expliqu-; progress: cours; task todo: tache taches; project: projet projets; document file:
  document documents; file document: fichier fichiers; folder: dossier dossiers; note memo: note notes; email mail
  message: mail mails courriel courriels email emails; message: message messages; weather forecast: meteo; time
  clock hour: heure heures; city town place location: ville villes; event meeting appointment: evenement
  evenements rendez rdv reunion reunions; calendar agenda: agenda calendrier; contact: contact contacts; customer
  client: client clients cliente; invoice bill: facture factures; product item article: produit produits article
  articles; cart basket: panier; user: utilisateur utilisateurs; account: compte comptes; reminder: rappel
  rappels; name: nom noms; title: titre titres; price: prix; quantity amount: quantite; address: adresse; phone:
  telephone; page: page pages; image photo picture: image images photo photos; recipe: recette recettes; light
  lamp: lumiere lumieres lampe lampes; lamp light: ampoule; room: piece pieces salle salles chambre; kitchen:
  cuisine; bedroom: chambre; door: porte portes; window: fenetre fenetres; temperature: temperature degres; music:
  musique; song track: chanson chansons; bag sack: sac sacs; cement: ciment; status state: statut etat; car:
  voiture voitures; house home: maison; team: equipe; ticket: ticket tickets billet billets; flight: vol vols;
  restaurant: restaurant; table: table tables; high: elevee eleve haute haut; low: basse bas faible; red: rouge;
  blue: bleu bleue; green: vert verte; web internet: internet`)

/** Other English words for what a tool may call differently. */
export const SYNONYMS: ReadonlyMap<string, readonly string[]> = dictionary(`
  email message: mail mails; event appointment: meeting meetings; event meeting: appointment appointments; task
  item: todo todos; image photo: picture pictures; lamp: light lights; light: lamp lamps bulb bulbs; product
  article: item items; cart: basket; customer: client clients; document: file files; file: document documents;
  invoice: bill bills; note: memo memos; movie: film films; in_progress progress started ongoing: ongoing started;
  done complete completed closed finished: finished completed closed complete done`)

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
  const at = NUMBER_WORDS.indexOf(FRENCH_GRAMMAR.get(word)?.[0] ?? word)
  return at < 0 ? undefined : at + 2
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

/** Whether a folded text asks what can be done here. */
export function asksForHelp(folded: string): boolean {
  return HELP.test(folded.slice(0, 100).replaceAll('’', "'"))
}

/** Whether a folded text asks what it is talking to. */
export function asksAboutSelf(folded: string): boolean {
  const short = folded.slice(0, 300).replaceAll('’', "'")
  return ABOUT_SELF.some((form) => form.test(short))
}
