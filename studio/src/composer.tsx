/** The input: a message for an agent, values as JSON for a graph. Enter sends, Shift+Enter begins a line. */

import type { SendMessage } from 'holdfast/client'
import { type KeyboardEvent, type SubmitEvent, useEffect, useId, useRef, useState } from 'react'
import { failureText } from './failure-text.ts'
import { isObject, type JsonObject } from './types.ts'
import { visible } from './visible-text.ts'

interface ComposerProps {
  /** The agent, flow or graph that gets the input. */
  readonly name: string
  readonly isGraph: boolean
  readonly isRunning: boolean
  /** A run waits for an answer: other values would dismiss its question, so they are not sent. */
  readonly isAsking?: boolean
  readonly initial?: string
  readonly onSend: (message: SendMessage) => Promise<void>
  readonly onCancel: () => void
}

export function Composer(props: ComposerProps) {
  const { name, isGraph, isRunning, isAsking = false, initial = '', onSend, onCancel } = props
  const [text, setText] = useState(initial)
  const { problem, isSending, send } = useSend(onSend)
  const field = useRef<HTMLTextAreaElement>(null)
  const id = useId()
  useEffect(() => field.current?.focus(), [])
  const submit = async (event?: SubmitEvent): Promise<void> => {
    event?.preventDefault()
    if (isSending || isAsking || text.trim() === '') return
    // Words that were written meanwhile stay.
    if (await send(text, isGraph))
      setText((now) => (now.startsWith(text) ? now.slice(text.length).trimStart() : now))
    field.current?.focus()
  }
  const keyDown = (event: KeyboardEvent): void => {
    // A key that ends the composition of a character sends nothing.
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return
    event.preventDefault()
    void submit()
  }
  return (
    <form className="composer" onSubmit={(event) => void submit(event)}>
      <div className="box">
        <label className="hidden" htmlFor={id}>
          {isGraph ? 'Values (JSON)' : 'Message'}
        </label>
        <textarea
          id={id}
          ref={field}
          className={isGraph ? 'mono' : ''}
          rows={1}
          dir="auto"
          value={text}
          placeholder={isGraph ? 'Values as JSON' : `Write to ${visible(name)}`}
          aria-describedby={`${id}-help`}
          onChange={({ target }) => setText(target.value)}
          onKeyDown={keyDown}
        />
        {(isRunning || isAsking) && (
          <button type="button" onClick={onCancel}>
            Cancel
          </button>
        )}
        <button type="submit" className="primary" disabled={isSending || isAsking || text.trim() === ''}>
          {isGraph ? 'Run' : 'Send'}
        </button>
      </div>
      {problem !== '' && (
        <p className="error" role="alert">
          {visible(problem)}
        </p>
      )}
      <p className="help" id={`${id}-help`}>
        {isAsking
          ? 'Answer the question above, or cancel the run, before you run it again.'
          : `Enter sends · Shift+Enter begins a line${isRunning ? ' · Escape cancels' : ''}`}
      </p>
    </form>
  )
}

function useSend(onSend: ComposerProps['onSend']) {
  const [problem, setProblem] = useState('')
  const [isSending, setSending] = useState(false)
  // The same text is sent again under the same key, so that it runs once.
  const failed = useRef<{ readonly text: string; readonly key: string }>(null)
  const send = async (text: string, isGraph: boolean): Promise<boolean> => {
    setProblem('')
    const values = isGraph ? valuesIn(text) : undefined
    if (isGraph && values === undefined) {
      setProblem('Values must be a JSON object, such as {"question": "Why?"}.')
      return false
    }
    const key = failed.current?.text === text ? failed.current.key : randomKey()
    setSending(true)
    try {
      await onSend(values === undefined ? { message: text, key } : { values, key })
      failed.current = null
      return true
    } catch (error) {
      failed.current = { text, key }
      setProblem(failureText(error))
      return false
    } finally {
      setSending(false)
    }
  }
  return { problem, isSending, send }
}

function randomKey(): string {
  return Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(36)).join('-')
}

function valuesIn(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}
