/** The parts of a research state that callers get. A state comes from the journal, so any field may be missing. */

/** Fields of the state of a research graph, as `holdfast/research` has them. */
export interface StoredResearch {
  readonly messages?: readonly unknown[]
  readonly final_answer?: string | null
  readonly confidence_score?: number | null
  readonly clarification_needed?: boolean
  readonly context?: { readonly sources?: readonly StoredSource[] }
}

interface StoredSource {
  readonly number: number
  readonly kind: string
  readonly passageId: string
  readonly documentId: string
  readonly title: string
  readonly source: string
  readonly page: number | null
  readonly quote: string
  readonly score: number
}

export function chatReply(
  { final_answer, confidence_score, clarification_needed, context, messages = [] }: StoredResearch,
  sessionId: string,
): object {
  return {
    answer: final_answer ?? '',
    sources: clarification_needed ? [] : (context?.sources ?? []).map(sourceJson),
    session_id: sessionId,
    message_count: messages.length,
    confidence_score: confidence_score ?? null,
  }
}

function sourceJson({ passageId, documentId, number, kind, ...rest }: StoredSource): object {
  const { title, source, page, quote, score } = rest
  return {
    number,
    kind,
    passage_id: passageId,
    document_id: documentId,
    ...{ title, source, page, quote, score },
  }
}
