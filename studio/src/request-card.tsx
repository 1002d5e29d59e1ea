/** A question or an approval: its form while it is open, and its answer after that. */
import { type SubmitEvent, useEffect, useId, useRef, useState } from 'react'
import type { RequestItem } from './conversation-view.ts'
import { Diff } from './diff.tsx'
import { failureText } from './failure-text.ts'
import { type Draft, draftOf, filled } from './form-draft.ts'
import { FormField, optionText } from './form-field.tsx'
import { Code, Markdown } from './markdown.tsx'
import { isAboutCall, subjectOf } from './request-subject.ts'
import { isObject, type Json, type RequestData, textIn } from './types.ts'
import { jsonText, visible } from './visible-text.ts'

export type Answer = (requestId: string, value: Json) => Promise<void>

export function RequestCard({ item, onAnswer }: { readonly item: RequestItem; readonly onAnswer: Answer }) {
  const { request, how } = item
  const id = useId()
  const card = useRef<HTMLElement>(null)
  const wasOpen = useRef(false)
  useEffect(() => {
    // The button that had the focus is gone with the form.
    if (wasOpen.current && how !== undefined && document.activeElement === document.body)
      card.current?.focus()
    wasOpen.current = how === undefined
  }, [how])
  const isApproval = request.from === 'approval'
  return (
    <section
      ref={card}
      tabIndex={-1}
      className={`card request ${how === undefined ? 'open' : 'closed'}`}
      aria-labelledby={id}
    >
      <h3 id={id}>
        {isApproval ? 'Approval' : 'Question'}{' '}
        <span className={`badge ${how === undefined ? 'waiting' : ''}`}>{how ?? 'waits for you'}</span>
      </h3>
      {isAboutCall(request) ? (
        <p className="plain" dir="auto">
          {visible(request.prompt)}
        </p>
      ) : (
        <Markdown text={request.prompt} />
      )}
      <Subject request={request} />
      {how === undefined ? <OpenRequest request={request} onAnswer={onAnswer} /> : <Given item={item} />}
    </section>
  )
}

function Subject({ request }: { readonly request: RequestData }) {
  const subject = subjectOf(request)
  if (subject === undefined) return null
  const { tool, args, preview, more } = subject
  return (
    <div className="about">
      {tool !== undefined && <p className="mono">{visible(tool)}</p>}
      {args !== undefined && <Code text={jsonText(args)} label="Arguments" />}
      {preview !== undefined &&
        (preview.isError ? <p className="error">{visible(preview.text)}</p> : <Diff text={preview.text} />)}
      {preview?.isCut && <p className="muted">The rest is too long to be shown.</p>}
      {more !== undefined && <Code text={jsonText(more)} label="Subject" />}
    </div>
  )
}

function Given({ item: { how, value } }: { readonly item: RequestItem }) {
  if (how !== 'answered' || value === undefined) return null
  const text = givenText(value)
  return text === undefined ? (
    <Code text={jsonText(value)} label="Answer" />
  ) : (
    <p className="given plain" dir="auto">
      {visible(text)}
    </p>
  )
}

/** A text, or the answer to a confirmation with its reason. */
function givenText(value: Json): string | undefined {
  if (typeof value === 'boolean') return value ? 'Yes' : 'No'
  if (!isObject(value)) return textIn(value)
  const { approved, reason, ...others } = value
  if (typeof approved !== 'boolean' || Object.keys(others).length > 0) return undefined
  return `${approved ? 'Yes' : 'No'}${typeof reason === 'string' ? `: ${reason}` : ''}`
}

interface OpenProps {
  readonly request: RequestData
  readonly onAnswer: Answer
}

function OpenRequest({ request, onAnswer }: OpenProps) {
  const [problem, setProblem] = useState('')
  const [isSending, setSending] = useState(false)
  const send = (value: Json): void => {
    setProblem('')
    setSending(true)
    onAnswer(request.requestId, value)
      .catch((error: unknown) => setProblem(failureText(error)))
      .finally(() => setSending(false))
  }
  return (
    <>
      <Answering request={request} isSending={isSending} send={send} />
      {problem !== '' && (
        <p className="error" role="alert">
          {visible(problem)}
        </p>
      )}
    </>
  )
}

interface AnswerProps {
  readonly request: RequestData
  readonly isSending: boolean
  readonly send: (value: Json) => void
}

function Answering(props: AnswerProps) {
  const { request, isSending, send } = props
  const { kind, schema } = request
  if (kind === 'confirmation') return <Confirmation {...props} />
  if (kind === 'choice') return <Choice {...props} />
  if (kind === 'text')
    return <SchemaForm {...props} schema={{ type: 'string', title: 'Answer', maxLength: 10_000 }} />
  if (schema !== undefined || kind === 'data') return <SchemaForm {...props} schema={schema ?? {}} />
  return (
    <button type="button" className="primary" disabled={isSending} onClick={() => send(true)}>
      Continue
    </button>
  )
}

function Confirmation({ request: { from }, isSending, send }: AnswerProps) {
  const [reason, setReason] = useState('')
  const id = useId()
  const isApproval = from === 'approval'
  const answer = (approved: boolean): void => {
    const said = reason.trim()
    send(said === '' ? approved : { approved, reason: said })
  }
  return (
    <>
      <div className="field">
        <label htmlFor={id}>Reason (optional)</label>
        <input id={id} value={reason} autoComplete="off" onChange={({ target }) => setReason(target.value)} />
      </div>
      <div className="actions">
        <button type="button" className="primary" disabled={isSending} onClick={() => answer(true)}>
          {isApproval ? 'Approve' : 'Yes'}
        </button>
        <button type="button" disabled={isSending} onClick={() => answer(false)}>
          {isApproval ? 'Decline' : 'No'}
        </button>
      </div>
    </>
  )
}

function Choice({ request: { options = [], multiple, prompt }, isSending, send }: AnswerProps) {
  const [chosen, setChosen] = useState<readonly number[]>([])
  const name = useId()
  const toggle = (at: number): void => {
    if (multiple) setChosen(chosen.includes(at) ? chosen.filter((each) => each !== at) : [...chosen, at])
    else setChosen([at])
  }
  const submit = (event: SubmitEvent): void => {
    event.preventDefault()
    const values = chosen.toSorted((a, b) => a - b).map((at) => options[at] ?? null)
    send(multiple ? values : (values[0] ?? null))
  }
  return (
    <form onSubmit={submit}>
      <fieldset className="options">
        <legend className="hidden">{visible(prompt)}</legend>
        {options.map((option, at) => (
          <label className="check" key={at}>
            <input
              type={multiple ? 'checkbox' : 'radio'}
              name={name}
              checked={chosen.includes(at)}
              onChange={() => toggle(at)}
            />
            {optionText(option)}
          </label>
        ))}
      </fieldset>
      <button type="submit" className="primary" disabled={isSending || chosen.length === 0}>
        Answer
      </button>
    </form>
  )
}

function SchemaForm({
  schema,
  isSending,
  send,
}: AnswerProps & { readonly schema: NonNullable<RequestData['schema']> }) {
  const [draft, setDraft] = useState<Draft>(() => draftOf(schema, schema))
  const [errors, setErrors] = useState<Readonly<Record<string, string>>>({})
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault()
    const result = filled(schema, draft, { root: schema, path: '', isRequired: true })
    setErrors(result.errors)
    if (Object.keys(result.errors).length === 0) return send(result.value ?? null)
    const form = event.currentTarget
    setTimeout(() => form.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus())
  }
  return (
    <form onSubmit={submit} noValidate>
      <FormField
        schema={schema}
        root={schema}
        path=""
        label={textIn(schema['title']) ?? ''}
        isRequired
        draft={draft}
        errors={errors}
        onChange={setDraft}
      />
      <button type="submit" className="primary" disabled={isSending}>
        Answer
      </button>
    </form>
  )
}
