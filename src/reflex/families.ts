/**
 * The data of the lexicon: families of verbs and nouns, little French words, and idioms. All words are in small letters and
 * without accents. A dash stands for the endings of a French verb; nouns get their plural by themselves.
 */

/**
 * Families of verbs that mean nearly the same to a tool, named by their first word; a word may be in several. English
 * before the bar, French behind it. The first five only look.
 */
export const VERBS: string = `
look list show display view see browse enumerate retrieve fetch load get give tell check read describe overview summary
  detail details info infos information know open present say contain status | affich- montr- donn- voir vois voyez present-
  visualis- consult- dis dites dit dire list- liste listes enumer- sors sortir sortez regard- apercu verifi- lis lire lisez lit
  recuper- obten- obtiens ouvr- detaill- detail info infos savoir connaitre decri- decrire decris contien- contenir contient
search find look lookup query seek locate hunt searching looking | trouv- retrouv- cherch- recherch-
read recite | lis lire lisez lit
detail details info infos information price cost costs describe about status | detail details detaill- info infos prix coute coutent
  decri- decrire decris
count many | compt- combien
compute calculate evaluate solve calc sum math maths calculation | calcul calcul- evalu- font fait
track trace follow | suis suivre suivez suivi
create add make new insert register record write save note generate put schedule plan book arrange open file log draft compose
  set enter stick pop throw include store capture jot | cre- fais faire faites ajout- rajout- inser- insere ecris ecrire ecrivez
  redig- not- prends prendre enregistr- mets mettre mettez met mettons inscri- inscris inscrire nouveau nouvel nouvelle nouveaux
  nouvelles planifi- programm- prevoir prevoi- organis- gliss- ouvr-
delete remove erase drop destroy discard trash cancel clear scrap bin ditch dump wipe purge eliminate | supprim- effac-
  enlev- retir- vir- elimin- jet- jett- annul- detrui- detruire ot- degag-
change update edit modify set alter adjust mark turn put correct make switch move raise lower increase decrease reduce heat warm
  bring | modifi- corrig- actualis- chang- regl-
  fix- defin- definis mets mettre mettez met mettons marqu- remets remettre pass- repass- bascul- ajust- augment- mont- baiss- diminu-
  reduire chauff-
finish complete close done tick resolve end settle | complet- achev- clotur- termin- fini finie finis finies finir fait faite
  faites coch- boucl- ferm- clos clore resolu resoudre
select choose pick switch use open take activate enter go | chois- selectionn- prends prendre prenez prend ouvr- utilis-
  bascul-
send mail email forward transmit write shoot compose draft | envoi- envoy- expedi- ecris ecrire transmet- transmettre
order buy purchase place checkout submit | command- achet- pass- valid- finalis-
book reserve schedule plan arrange | reserv- planifi-
move transfer shift relocate put reschedule postpone delay | deplac- transfer- boug- decal- report-
rename retitle | renomm- rebaptis-
copy duplicate clone | copi- dupliqu-
start begin launch run execute trigger play resume | demarr- lanc- commenc- execut-
stop halt end pause | arret- stopp-
on enable power activate | allum- activ-
off disable deactivate kill | etein- eteign- eteindre eteins eteint desactiv-
shut close | ferm-
lock secure | verrouill-
unlock | deverrouill-
raise increase | augment- mont-
lower decrease reduce | baiss- diminu- reduire
approve accept confirm | approuv- confirm- accept- valid-
reject decline refuse | rejet- refus-
restart reboot reset | redemarr- reinitialis-
call phone ring | appel- telephon-
publish post | publi-
pay settle | pay- paie paies paient regl- acquitt-
assign give allocate delegate | assign- affect- attribu- confi- donn-
reply answer respond | repon- repond reponds repondre
comment | comment-
reopen | rouvr- reouvr-
refund | rembours-
empty | vid-
keep leave | laiss- gard-
translate | tradui- traduire
convert | convert-
share | partag-
archive | archiv-
print | imprim-
remind | rappel-
restore undo undelete revert | restaur- retabli-
export | export-
import | import-
download | telecharg-
return | renvoi- retourn-
explain | expliqu-
invite | invit-
water | arros-
wash clean | lav- nettoy-
hire | embauch- recrut-
fire sack | licenci-
compare | compar-
sell | vend- vendre
deliver ship | livr-
repair fix | repar-
narrate recite | racont-
${'install deploy merge split attach subscribe unsubscribe block mute summarise summarize draw paint sync zip encrypt compress pin flag tag skip escalate wrap sing cook feed heat cool rent sort snooze dim upload sign'
  .split(' ')
  .join('\n')}`

/** Nouns and adjectives that stand for one another; the same shape. */
export const NOUNS: string = `
task todo chore | tache
project site worksite | projet chantier
file document doc paper | fichier document papier
folder directory | dossier
note memo | note memo
email mail message | mail courriel email message
subject topic title | objet sujet
text content body | texte contenu corps
weather forecast rain raining snow snowing sunny sun cold warm hot windy cloudy umbrella temperature climate | meteo pluie pleut
  pleuvoir neige soleil froid chaud beau parapluie temperature climat
time clock hour date day | heure date jour
city town place location | ville lieu
event meeting appointment | evenement rendez rdv reunion
calendar agenda schedule diary | agenda calendrier planning
contact people person directory | contact carnet personne gens
client customer | client cliente
invoice bill | facture
product item article goods range catalogue catalog | produit article catalogue
cart basket trolley | panier
shop store | magasin boutique
firm company business | entreprise societe
name | nom
title | titre
price cost costs expensive | prix cout coute coutent cher
quantity amount | quantite
image photo picture | image photo
light lamp bulb | lumiere lampe ampoule
room | piece salle chambre
kitchen | cuisine
bedroom | chambre
bathroom bath | bain sdb
door | porte
window | fenetre
temperature degree degrees temp heat heating warm hot cold thermostat | temperature degre chauffage chaud froid thermostat
bag sack | sac
cement | ciment
status state | statut etat
house home | maison
ticket issue | ticket incident
high urgent | elevee eleve haute haut urgent urgente
low | basse bas faible
red | rouge
blue | bleu bleue
green | vert verte
comment remark | commentaire remarque
inbox mailbox | reception
supplier vendor | fournisseur
priority | priorite
open pending | ouvert ouverte
progress ongoing started underway | cours
done complete completed closed finished | termine terminee fini finie finis fait faite acheve achevee cloture cloturee
closed shut | ferme fermee
paid | paye payee regle reglee
unpaid | impaye impayee
everything all every | tout tous toutes toute
order | commande
user | utilisateur
song track | chanson
lunch | dejeuner
dinner supper | diner souper
dentist | dentiste
doctor physician | medecin docteur
review | revue bilan
budget | budget
holiday vacation | vacances conges
garden yard | jardin
grocery groceries shopping | courses
kettle | bouilloire
coffee | cafe
grinder mill | moulin broyeur
ceiling | plafond plafonnier
porch | porche perron
reading | lecture
birthday | anniversaire
party | fete
idea | idee
living lounge | salon sejour
hallway corridor | couloir entree
stairs staircase | escalier
gate | portail
flower plant | fleur plante
bread | pain
milk | lait
cake | gateau
dog | chien
cat | chat
child kid | enfant
friend | ami amie
week | semaine
month | mois
year | annee
monday | lundi
tuesday | mardi
wednesday | mercredi
thursday | jeudi
friday | vendredi
saturday | samedi
sunday | dimanche
car | voiture
team | equipe
account | compte
address | adresse
number | numero
left remaining | reste restent restant restante`

/** Little French words behind the English ones that stand for them. */
export const GRAMMAR: string = `
the: le la les l un une contenu; of: de des d du; to: a au aux vers; for: pour; in: en dans chez; on: sur; by: par; as: comme;
is: est soit serait; are: sont suis es sommes; who: qui; where: ou; that: que qu ce c ca cela ceci; these: ces; this: cette
cet; i: je j; you: tu vous te toi t; we: nous on; me: moi m me; my: mon ma mes; our: notre nos; your: votre vos ton ta tes;
its: son sa ses leur leurs; it: il elle celui celle lui ils elles ceux celles; s: s se; not: pas ne n; never: jamais;
without: sans; there: y; and: et; with: avec; now: maintenant desormais; also: aussi; then: puis ensuite; but: mais donc
alors; please: plait svp stp veuillez; want: veux voudrais voudrait veut voulez aimerais aimerait souhaite souhaiterais faut
faudrait besoin envie voulais; can: peux peut pouvez pourrais pourriez pourrait; all: tous toutes tout toute; every: chaque;
many: combien; which: quel quelle quels quelles lequel laquelle lesquels lesquelles; what: quoi; how: comment; why: pourquoi; if: si;
should: dois doit devrais devrait devons; no: non; yes: oui ouais; again: encore; named: nomme nommee appele appelee appelle
intitule intitulee; here: ici voici voila; have: ai as avons avez ont avoir; be: etre; was: ete etait; very: tres bien vite;
thanks: merci; other: autre autres; same: meme; first: premier premiere 1er 1ere; second: deuxieme seconde second; third:
troisieme; fourth: quatrieme; fifth: cinquieme; sixth: sixieme; seventh: septieme; eighth: huitieme; ninth: neuvieme; tenth:
dixieme; last: dernier derniere; number: numero; current: actuel actuelle actif active courant courante; today: aujourdhui
hui aujourd; two: deux; three: trois; four: quatre; five: cinq; six: six; seven: sept; eight: huit; nine: neuf; ten: dix;
eleven: onze; twelve: douze; thirteen: treize; fourteen: quatorze; fifteen: quinze; sixteen: seize; twenty: vingt; just: seulement uniquement juste vraiment simplement rapidement toujours euh hein bon ben
bah allez hop parfait super dispo disponible disponibles actuellement moment quelque quelques chose choses truc trucs vais va
vas aller allons allez peu possible necessaire m; more: plus davantage; already: deja; when: quand; nothing: rien; rather: plutot; tomorrow:
demain; yesterday: hier; for: pour; good: bonne bonnes`

/** Several words that stand for one, or for nothing; a star stands for a few words between. */
export const IDIOMS: string = `
delete: get rid of | throw away | throw out | throw * away | throw * out | take * out of | take * out | take * off | call off |
  call * off | cross * off_list | se debarrasser de | debarrasse toi de | debarrasse moi de | get * out of
look: any news on | any news about | news about | des nouvelles de | run me through | walk me through | take me through | pull up | pull * up | bring up | have a look at | take a look at |
  let me see | go over | look at | look into | read out | open up | fais voir | faites voir | fais moi
  voir | jette un oeil | passe en revue | je peux voir
search: look for | look up | hunt for | looking for | searching for
select: switch to | switch over to | change to | go to | move to | move over to | move on to | work on | go with | go
  for | jump to | go into | switch into | take me to | passe a | passe au | passe aux | passe sur | passer a | passer au | passer
  sur | passez a | passez au | passez sur | bascule sur | basculer sur | va sur | va dans | aller sur | travailler sur | bosser
  sur | on passe a | on passe au | on passe sur | je prends | on prend | place toi sur | mets toi sur | va pour | allons y pour
finish: tick off | tick * off | check off | check * off | cross off | cross * off | wrap up | done with | finished with | close
  out
create: set up | jot down | write down | note down | put down | put together
change: mets a jour | mettre a jour | mettez a jour
lock: ferme a cle | ferme * a cle | fermer a cle | fermer * a cle | lock up
on: turn on | turn * on | switch on | switch * on | put * on | power on
off: turn off | turn * off | switch off | switch * off | put * off | shut off | shut * off
many: how many | combien de
named: known as | by the name of | qui s appelle
time: quel jour | le combien | quelle heure | what day
weather: le temps qu il fait | temps qu il fait | quel temps fait il | il fait quel temps | quel temps il fait | quel temps fera t il | quel temps | le
  temps
any: j ai quelque chose | est ce que j ai quelque chose | are there any | is there any | are there | is there | do we have any | do we have | do i have any | do i have | have we got
  any | have we got | have you got any | have you got | do you have any | do you have | do you sell any | do you sell | got any |
  y a t il | il y a | as t on | a t on | avons nous | ai je | avez vous | vous avez | vendez vous | vous vendez | on a | est ce qu il
  y a | est ce que j ai | est ce que vous avez | qu est ce qu il y a | y a
what: qu est ce que | qu est ce qu | c est quoi | il y a quoi
bathroom: salle de bain | salle de bains
temperature: il fait combien | combien il fait
unread: not read | non lus
contact: address book | carnet d adresses | carnet d adresse
order: check out
detail: tell me about | tell me more about | more about | more on | how much is | how much are | how much does | how much do |
  combien coute | combien coutent | dis m en plus | parle moi de
just: c est tout | ce sera tout | that will be all | what about | how about | changed my mind | see to it | see to | see that | make sure | go ahead | that is all | that s all |
  first of all | after all | at all | at once | right away | as soon as possible | as well | for good | of course | for me | for us
  | by the way | a bit | no rush | s il te plait | s il vous plait | est ce que | tout de suite | bien sur | en fait | d accord |
  de suite | pour moi | pour nous | ca serait | ce serait | j ai besoin de | j aurais besoin de | j ai envie de | des que possible
  | je te prie | je vous prie | to do with | en ce moment | would you mind | do you mind | a list of | the list of | list of | la
  liste de | la liste des | liste des | liste de`
