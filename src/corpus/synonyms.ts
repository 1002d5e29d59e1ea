/** Words that say the same in questions and in answers: irregular forms, measures, extremes, common verbs. Pure. */

/** One group a line. A word may be in several groups. Words of a field are none of these: two of them are seldom the same. */
const TEXT = `
  buy bought buys buying purchase purchased acquire acquired
  pay pays paid payment payments
  cost costs price prices priced fee fees charge charges pay paid euro euros pound pounds dollar dollars
  build built builds construct constructed
  make makes made making produce produced
  find finds found discover discovered
  found founded founding foundation establish established start started open opened begin began begun create created
  begin began begun begins beginning start starts started starting open opens opened opening
  end ends ended finish finishes finished close closes closed closing stop stops stopped
  sell sells sold
  send sends sent
  lend lends lent loan borrow borrowed
  win wins won winner
  lose loses lost loss losses
  hold holds held
  keep keeps kept store stores stored storage
  leave leaves left
  break breaks broke broken
  tear tears tore torn
  drive drives drove driven driver
  write writes wrote written author authors
  choose chose chosen select selected
  grow grows grew grown growth
  rise rises rose risen increase increases increased raise raised growth
  fall falls fell fallen drop dropped decrease decreased decline declined
  speak spoke spoken talk
  teach teaches taught teacher
  take takes took taken
  give gives gave given
  get gets got receive receives received
  go goes went gone
  come comes came
  run runs ran running
  see sees saw seen observe observed
  show shows showed shown
  know knows knew known
  say says said
  tell tells told
  think thinks thought
  draw draws drew drawn
  throw threw thrown
  steal stole stolen
  feed feeds fed
  meet meets met meeting meetings
  lie lies lay lain
  lay lays laid laying
  light lights lit
  wear wears wore worn
  swim swam swum
  eat eats ate eaten
  bear born birth
  die dies died death dead
  kill kills killed
  marry married marriage
  call calls called name names named
  weigh weighs weight weights weighed mass kg heavy heavier heaviest masse poids pese lourd
  deep deeper deepest depth depths profondeur profond
  high higher highest height heights tall taller tallest hauteur haut
  long longer longest length lengths last lasts lasted duration longueur duree dure
  wide wider widest width widths broad largeur
  thick thicker thickness thin thinner thinnest epaisseur
  far farther further distance distances away
  old older oldest age ages aged
  warm warmer warmest hot hotter hottest temperature temperatures chaud
  cold colder coldest
  fast faster fastest quick speed speeds velocity vitesse
  hard harder hardest hardness
  large larger largest big bigger biggest size sizes area volume capacity taille
  maximum maximal max highest greatest largest biggest most strongest top maximale peak
  minimum minimal min lowest smallest least weakest fell
  strong stronger strongest strength
  common commoner commonest frequent
  main chief principal principal
  replace replaced replaces replacement exchange exchanged change changed changes renew renewed substitute
  repair repaired repairs fix fixed mend mended
  clean cleaned cleans cleaning wash washed wipe wiped
  allow allows allowed may permit permitted permission
  forbid forbidden ban banned prohibited
  need needs needed require requires required requirement necessary
  propose proposes proposed proposal suggest suggested
  decide decides decided decision agree agreed
  elect elects elected election
  employ employed employs employee employees staff
  salary salaries wage wages earn earns earned pay
  sun sunlight solar
  kid kids child children
  adult adults grown-up
  woman women
  man men
  person persons people
  foot feet
  tooth teeth
  mouse mice
  half halves
  loaf loaves
  knife knives
  leaf leaves
  life lives live living
  year years annual annually yearly
  month months monthly
  week weeks weekly
  day days daily
  first initial original
  begin commence
  help helps helped assist assisted
  injure injured hurt harm harmed
  damage damaged damages
  estimate estimated estimates
  holiday holidays vacation
  car cars vehicle vehicles
  boat boats ship ships vessel vessels
  doctor doctors physician
  picture pictures photograph photographs photo photos image images
  carry carries carried load loads bear
  responsible responsibility charge
  error errors fault faults failure
  mean means meaning
  document documents file files
  prix cout coute couter coutent
  trouve trouver trouves decouvert
  ouvre ouvrir ouvert ouverte ouverture
  ferme fermer fermeture
  remplace remplacer remplacement change changer
  mesure mesurer mesuree mesures`

/** Small letters without accents. */
export const SYNONYMS: readonly (readonly string[])[] = TEXT.trim()
  .split('\n')
  .map((line) => line.trim().split(' '))

const byWord = new Map<string, Set<string>>()
for (const group of SYNONYMS)
  for (const word of group) byWord.set(word, new Set([...(byWord.get(word) ?? [word]), ...group]))

const MARKS = /\p{M}/gu

/** The word itself, and the words that say the same, whatever its accents: `coûte` and `prix`. */
export function synonymsOf(word: string): readonly string[] {
  const plain = word.normalize('NFD').replaceAll(MARKS, '')
  return [...new Set([word, ...(byWord.get(plain) ?? [])])]
}
