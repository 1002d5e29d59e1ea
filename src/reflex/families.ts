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
  detail details info infos information know open present say contain status provide supply inspect review examine
  glance peek preview outline study scan access inform bring pull | affich- montr- donn- voir vois voyez present-
  visualis- consult- dis dites dit dire list- liste listes enumer- sors sortir sortez regard- apercu verifi- lis lire lisez lit
  recuper- obten- obtiens ouvr- relis relire relisez fourni- fournir indiqu- examin- parcour- parcourir communiqu- propos- revoir
  zieut- mat- detaill- detail info infos savoir connaitre decri- decrire decris contien- contenir contient
search find look lookup query seek locate hunt searching looking spot dig after | trouv- retrouv- cherch- recherch-
read recite reread | lis lire lisez lit relis relire relisez
detail details info infos information price cost costs describe about specifics particulars |
  detail details detaill- info infos prix coute coutent precision precisions renseignement renseignements
  decri- decrire decris
count many tally | compt- combien nombre
compute calculate evaluate solve calc sum math maths calculation | calcul calcul- evalu- font fait
track trace follow status | suis suivre suivez suivi
create add make new insert register record write save note generate put schedule plan book arrange open file log draft compose
  set enter stick pop throw take include store capture jot start begin replace overwrite report lodge raise build produce prepare craft establish mkdir | cre- fais faire faites ajout- rajout- inser- insere ecris ecrire ecrivez
  redig- not- prends prendre enregistr- mets mettre mettez met mettons inscri- inscris inscrire nouveau nouvel nouvelle nouveaux
  nouvelles signal- declar- construi- construire prepar- etabli- etablir remplac- planifi- programm- prevoir prevoi- organis- gliss- ouvr-
delete remove erase drop destroy discard trash cancel clear scrap bin ditch dump wipe purge eliminate rm nuke axe lose chuck toss shred junk strike scratch | supprim- effac-
  enlev- retir- vir- elimin- jet- jett- annul- detrui- detruire ot- degag- zapp- bazard-
change update edit modify amend revise tweak bump crank push flip set alter adjust mark turn put correct make switch move raise lower increase decrease reduce heat warm
  bring | modifi- corrig- actualis- chang- regl-
  fix- defin- definis mets mettre mettez met mettons marqu- remets remettre pass- repass- bascul- ajust- augment- monte montes monter montez baiss- diminu-
  reduire chauff- pouss- rectifi- indiqu-
finish complete close done tick resolve end settle conclude finalise finalize accomplish achieve sort sorted solve solved | complet- achev- clotur- termin- fini finie finis finies finir fait faite
  faites coch- boucl- ferm- clos clore resolu resoudre conclu- conclure regl-
select choose pick switch use open take activate enter go focus opt jump | chois- selectionn- prends prendre prenez prend ouvr- utilis-
  bascul-
send mail email forward transmit write shoot compose draft dispatch | envoi- envoy- expedi- ecris ecrire transmet- transmettre
order buy purchase place checkout submit | command- achet- pass- valid- finalis- prendre
book reserve schedule plan arrange | reserv- planifi-
move transfer shift relocate put reschedule postpone delay | deplac- transfer- boug- decal- report-
rename retitle mv | renomm- rebaptis-
copy duplicate clone cp | copi- copie copies duplicat- dupliqu-
start begin launch run execute trigger play resume | demarr- lanc- commenc- execut-
stop halt end pause | arret- stopp-
on enable power activate | allum- rallum- activ-
off disable deactivate kill extinguish douse | coup- etein- eteign- eteindre eteins eteint desactiv-
shut close | ferm-
lock secure bolt latch | verrouill- boucl- cadenass-
unlock | deverrouill-
raise increase | augment- monte montes monter montez
lower decrease reduce | baiss- diminu- reduire
approve accept confirm | approuv- confirm- accept- valid-
reject decline refuse | rejet- refus-
restart reboot reset | redemarr- reinitialis-
call phone ring | appel- telephon-
publish post | publi-
pay settle payment | paiement reglement pay- paie paies paient regl- acquitt-
assign give allocate delegate hand pass entrust reassign | assign- affect- attribu- confi- donn- refil- pass-
reply answer respond tell | repon- repond dis dites reponds repondre
comment | comment-
reopen | rouvr- reouvr-
refund | rembours-
empty | vid-
keep leave | laiss- gard-
translate | tradui- traduire
convert | convert-
share | partag-
archive shelve | archiv- class-
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
project site worksite proj | projet chantier
file document doc paper paperwork | fichier document doc papier paperasse
folder directory | dossier
note memo | note memo
email mail message msg | mail courriel email message
subject topic title | objet sujet
text content body | texte contenu corps
weather forecast rain raining snow snowing sunny sun cold warm hot windy cloudy umbrella temperature climate conditions | meteo pluie pleut
  pleuvoir neige soleil froid chaud beau parapluie temperature climat
time clock hour date day | heure date jour
city town place location | ville lieu
event meeting appointment engagement happening planned | evenement rendez rdv reunion rencontre prevu prevus prevue
calendar agenda schedule diary | agenda calendrier planning
contact people directory | contact carnet personne gens
client customer | client cliente fiche
invoice bill | facture
product item article goods range catalogue catalog stock merchandise inventory sell selling | produit article catalogue vend- vendre
cart basket trolley | panier caddie
shop store | magasin boutique
firm company business | entreprise societe
name | nom
title | titre
price cost costs expensive | prix cout coute coutent cher
quantity amount | quantite
image photo picture | image photo
light lamp bulb | lumiere lampe ampoule eclairage
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
ticket issue incident | ticket incident
high urgent | elevee eleve haute haut urgent urgente
low | basse bas faible
red | rouge
blue | bleu bleue
green | vert verte
comment remark | commentaire remarque
inbox mailbox | reception
supplier vendor | fournisseur
priority prio | priorite
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
left remaining remain remains outstanding | reste restent restant restante restantes`

/** Little French words behind the English ones that stand for them. */
export const GRAMMAR: string = `
the: le la les l un une contenu lensemble; of: de des d du; exist: existe existent; about: relatif relatifs relative relatives; to: a au aux vers; for: pour; in: en dans chez; on: sur; by: par; as: comme;
is: est soit serait c cest; are: sont suis es sommes; who: qui; where: ou; that: que qu ce c ca cela ceci; these: ces; this: cette
cet; i: je j jsuis; you: tu vous te toi t; we: nous on; me: moi m me; my: mon ma mes; our: notre nos; your: votre vos ton ta tes;
its: son sa ses leur leurs; it: il elle celui celle lui ils elles ceux celles; s: s se; not: pas ne n; never: jamais;
without: sans; before: avant; after: apres; there: y; and: et; with: avec; now: maintenant desormais; also: aussi; then: puis ensuite; but: mais donc
alors; please: plait svp stp veuillez prie merci; want: jveux jvoudrais jvx vx vouloir desire desirerais desirerait tiens veux voudrais voudrait veut voulez aimerais aimerait souhaite souhaiterais faut
faudrait besoin envie voulais; can: peu peux peut pouvez puis auriez aurais saurais pourrais pourriez pourrait; all: tous toutes tout toute ensemble integralite totalite; every: chaque;
many: combien; which: quel quelle quels quelles lequel laquelle lesquels lesquelles; what: quoi koi kwa; how: comment; why: pourquoi; if: si;
should: dois doit devrais devrait devons; no: non nan; yes: oui ouais; again: encore; named: nomme nommee appele appelee appelle
intitule intitulee; here: ici voici voila; have: ai as avons avez ont avoir jai g ta tas; be: etre; was: ete etait; very: tres bien vite;
thanks: merci remercie remercions; other: autre autres; same: meme; first: premier premiere 1er 1ere; second: deuxieme seconde second; third:
troisieme; fourth: quatrieme; fifth: cinquieme; sixth: sixieme; seventh: septieme; eighth: huitieme; ninth: neuvieme; tenth:
dixieme; last: dernier derniere; number: numero; current: actuel actuelle actif active courant courante; today: aujourdhui
hui aujourd; two: deux; three: trois; four: quatre; five: cinq; six: six; seven: sept; eight: huit; nine: neuf; ten: dix;
eleven: onze; twelve: douze; thirteen: treize; fourteen: quatorze; fifteen: quinze; sixteen: seize; twenty: vingt; result: resultat; just: amabilite gentillesse plaisir definitivement finalement exemplaire exemplaires unite unites frere mec vieux vouloir urgence
  slt bcp dsl seulement uniquement juste vraiment simplement rapidement toujours euh hein bon ben
bah allez hop parfait super dispo disponible disponibles actuellement moment quelque quelques chose choses truc trucs vais va
vas aller allons allez pense pensez veille veillez proceder procede procedez ayant peu possible necessaire m; more: plus davantage; already: deja; when: quand; nothing: rien; rather: plutot; tomorrow:
demain; yesterday: hier; for: pour; good: bonne bonnes`

/** Several words that stand for one, or for nothing; a star stands for a few words between. */
export const IDIOMS: string = `
delete: get rid of | chuck out | chuck * out | bin off | se passer de | throw away | throw out | throw * away | throw * out | take * out of | take * out | take * off | call off |
  call * off | cross * off_list | se debarrasser de | debarrasse toi de | debarrasse moi de | get * out of
look: go through | run through | look over | leaf through | flick through | remind me which | remind me what | remind me of | remind me | rappelle moi | rappelez moi | any news on | bring me up to date on | fill me in on | let me know | any news about | news about | des nouvelles de | run me through | walk me through | take me through | pull up | pull * up | bring up | have a look at | take a look at |
  let me see | go over | look at | look into | read out | open up | fais voir | faites voir | fais moi
  voir | jette un oeil | passe en revue | je peux voir
search: anything with | anything like | something like | something with | anything * about | anything about | something about | something on | quelque chose sur | look for | look up | hunt for | looking for | searching for
select: get started with | get started on | start with | let s do | lets do | deal with | proceed with | continue with | carry on with |
  focus on | on bosse sur | on va travailler sur | on va bosser sur | on va sur | on travaille sur | on attaque | on commence par | switch to | switch over to | change to | go to | move to | move over to | move on to | work on | go with | go
  for | jump to | go into | switch into | take me to | passe a | passe au | passe aux | passe sur | passer a | passer au | passer
  sur | passez a | passez au | passez sur | bascule sur | basculer sur | va sur | va dans | aller sur | travailler sur | bosser
  sur | on passe a | on passe au | on passe sur | je prends | on prend | place toi sur | mets toi sur | va pour | allons y pour
finish: tick off | tick * off | check off | check * off | cross off | cross * off | wrap up | done with | finished with | close
  out
copy: make a copy of | make a copy | fais une copie de | faire une copie de | une copie de | copie de
create: set up | make a note of | prends note de | jot down | write down | note down | put down | put together
change: mets a jour | mettre a jour | mettez a jour
lock: ferme tout a cle | ferme tout a clef | ferme a clef | ferme * a clef | fermer * a clef | close * with key | ferme a cle | ferme * a cle | fermer a cle | fermer * a cle | lock up
on: flip * on | flick * on | be switched on | be turned on | turn on | turn * on | switch on | switch * on | put * on | power on
off: flip * off | flick * off | be switched off | be turned off | turn of | turn off | turn * off | switch off | switch * off | put * off | shut off | shut * off
many: how many | how much | combien de | nombre de
named: call it | name it | title it | appelle le | appelle la | nomme le | nomme la | known as | by the name of | qui s appelle
rename: change the name of | change le nom de | changer le nom de | give * a new name
inbox: boite de reception | boite mail | boite aux lettres | boite
time: quel jour | le combien | quelle heure | what day
weather: le temps qu il fait | temps qu il fait | quel temps fait il | il fait quel temps | quel temps il fait | quel temps fera t il | quel temps | le
  temps
product: what do you sell | que vendez vous | vous vendez quoi | qu est ce que vous vendez | for sale
any: am i free | am i busy | je suis pris | suis je pris | suis je libre | je suis libre | proposez vous | vous proposez | do you stock | do you carry | do you offer | tu as des | t as des | as tu des | tu as | t as | vous auriez | auriez vous | y a des | ya des | ya t il | ya | j ai quelque chose | est ce que j ai quelque chose | are there any | is there any | are there | is there | do we have any | do we have | do i have any | do i have | have we got
  any | have we got | have you got any | have you got | do you have any | do you have | do you sell any | do you sell | got any |
  y a t il | il y a | as t on | a t on | avons nous | ai je | avez vous | vous avez | vendez vous | vous vendez | on a | est ce qu il
  y a | est ce que j ai | est ce que vous avez | qu est ce qu il y a | y a
what: qu est ce que | qu est ce qu | c est quoi | il y a quoi
bathroom: salle de bain | salle de bains
temperature: il fait combien | combien il fait
unread: not read | not yet read | not been read | non lus | non lu | pas lus | pas lu | didn t read | didnt read | haven t read | havent read | have not yet read | not opened
contact: address book | carnet d adresses | carnet d adresse
order: check out
detail: tell me about | tell me more about | more about | more on | how much is | how much are | how much does | how much do |
  combien coute | combien coutent | dis m en plus | parle moi de
todo: to do list | todo list | to dos | to do | my list | ma liste | a faire | things to do | trucs a faire | choses a faire
just: on second thought | on second thoughts | these days | so far | at the moment | as of now | for now | good news | any more | by now | vite fait | d avance | merci d avance | c est bon | c bon |
  au fait | a propos | en attente de | thanks a million | if that s alright | if that is alright | if possible | be so kind | be so kind as to | c est tout | ce sera tout | that will be all | what about | how about | changed my mind | see to it | see to | see that | make sure | go ahead | that is all | that s all |
  first of all | after all | at all | at once | right away | as soon as possible | as well | for good | of course | for me | for us
  | by the way | a bit | no rush | s il te plait | s il vous plait | est ce que | tout de suite | bien sur | en fait | d accord |
  de suite | pour moi | pour nous | ca serait | ce serait | j ai besoin de | j aurais besoin de | j ai envie de | des que possible
  | je te prie | je vous prie | to do with | en ce moment | would you mind | do you mind | a list of | the list of | list of | la
  liste de | la liste des | liste des | liste de`
