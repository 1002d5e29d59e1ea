/** The fixed texts of answers and questions, in English and French. */
import type { Marks } from './citations.ts'
import type { Missing } from './vagueness.ts'
import type { Language } from './words.ts'

export interface Texts {
  readonly ask: (missing: Pick<Missing, 'kind' | 'words'>) => string
  readonly assumption: (missing: string, searched: string) => string
  readonly assumed: string
  readonly notFound: (question: string) => string
  /** Words of the question that the nearest passage lacks, if it lacks any. */
  readonly lacking: (words: readonly string[]) => string
  /** The heading of the passages that come nearest. */
  readonly nearest: string
  readonly partNotFound: (part: string, words: readonly string[]) => string
  /** Names and figures of the question that no cited source has. */
  readonly notMentioned: (words: readonly string[]) => string
  readonly newer: (number: number, date: string) => string
  readonly notFoundButWritten: string
  readonly extractive: string
  readonly extractiveAfterFailure: (reason: string) => string
  readonly conflict: string
  readonly lowConfidence: (score: number) => string
  readonly failedSearch: string
  readonly marks: Marks
}

const quoted = (words: readonly string[], and: string): string =>
  words.map((word) => `"${word}"`).join(` ${and} `)

const ENGLISH: Texts = {
  ask: ({ kind, words }) => {
    if (kind === 'ambiguous reference' && words.length > 0)
      return `What does ${quoted(words, 'and')} refer to: which document, author or subject?`
    if (kind === 'underspecified parameter' && words.length > 0)
      return `What do you mean by ${quoted(words, 'and')}: for which task, and by which measure?`
    return 'What topic are you asking about: which subject, document or author?'
  },
  assumption: (missing, searched) =>
    `It was not said which is meant (${missing}), so this answer is about ${searched}.`,
  assumed: 'Assumption',
  notFound: (question) =>
    `**Not found.** Nothing in the searched sources answers the question "${question}".`,
  lacking: (words) =>
    words.length === 0
      ? 'The nearest passage has the words of the question, but no sentence that answers it.'
      : `The nearest passage says nothing about ${quoted(words, 'and')}.`,
  nearest: 'The nearest passages, which may say it in other words:',
  partNotFound: (part, words) =>
    `**Not found:** "${part}"${words.length === 0 ? '' : `: no passage has ${quoted(words, 'and')} with it`}.`,
  notMentioned: (words) => `**Not in the cited sources:** ${quoted(words, 'and')}.`,
  newer: (number, date) => `The newer document is [${number}], of ${date}.`,
  notFoundButWritten: 'The model wrote an answer without a single source, so it is not shown.',
  extractive:
    'Sentences from the sources, quoted as they stand. This answer is extractive: no language model wrote it.',
  extractiveAfterFailure: (reason) =>
    `The language model failed (${reason}). This answer is extractive: sentences from the sources, quoted as they stand.`,
  conflict: '**The sources disagree:**',
  lowConfidence: (score) => `*Note: low confidence (${score}). Check the sources before you rely on this.*`,
  failedSearch: 'A search failed, so the answer may still be there:',
  marks: { weak: '*(weakly supported)*', unsupported: '*(unsupported)*', uncited: '*(no source)*' },
}

const FRENCH: Texts = {
  ask: ({ kind, words }) => {
    if (kind === 'ambiguous reference' && words.length > 0)
      return `À quoi ${quoted(words, 'et')} fait-il référence : quel document, quel auteur ou quel sujet ?`
    if (kind === 'underspecified parameter' && words.length > 0)
      return `Que voulez-vous dire par ${quoted(words, 'et')} : pour quelle tâche et selon quelle mesure ?`
    return 'De quel sujet s’agit-il : quel thème, quel document ou quel auteur ?'
  },
  assumption: (missing, searched) =>
    `Ce qui manquait n’a pas été précisé (${missing}) : cette réponse porte sur ${searched}.`,
  assumed: 'Hypothèse',
  notFound: (question) =>
    `**Introuvable.** Rien dans les sources consultées ne répond à la question « ${question} ».`,
  lacking: (words) =>
    words.length === 0
      ? 'Le passage le plus proche a les mots de la question, mais aucune phrase qui y répond.'
      : `Le passage le plus proche ne dit rien de ${quoted(words, 'et')}.`,
  nearest: 'Les passages les plus proches, qui le disent peut-être autrement :',
  partNotFound: (part, words) =>
    `**Introuvable :** « ${part} »${words.length === 0 ? '' : ` : aucun passage n’a ${quoted(words, 'et')} à ce sujet`}.`,
  notMentioned: (words) => `**Absent des sources citées :** ${quoted(words, 'et')}.`,
  newer: (number, date) => `Le document le plus récent est [${number}], de ${date}.`,
  notFoundButWritten: 'Le modèle a écrit une réponse sans aucune source : elle n’est pas montrée.',
  extractive:
    'Phrases tirées des sources, citées telles quelles. Cette réponse est extractive : aucun modèle de langage ne l’a écrite.',
  extractiveAfterFailure: (reason) =>
    `Le modèle de langage a échoué (${reason}). Cette réponse est extractive : des phrases des sources, citées telles quelles.`,
  conflict: '**Les sources se contredisent :**',
  lowConfidence: (score) =>
    `*Note : confiance faible (${score}). Vérifiez les sources avant de vous y fier.*`,
  failedSearch: 'Une recherche a échoué, la réponse s’y trouve peut-être :',
  marks: { weak: '*(peu étayé)*', unsupported: '*(non étayé)*', uncited: '*(sans source)*' },
}

export function textsIn(language: Language): Texts {
  return language === 'fr' ? FRENCH : ENGLISH
}
