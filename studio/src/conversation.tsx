/** One conversation: its chat, its input, and beside them the timeline or the state. */
import type { HoldfastClient, SendMessage } from 'holdfast/client'
import { useEffect, useMemo, useState } from 'react'
import { Chat } from './chat.tsx'
import { Composer } from './composer.tsx'
import { ConnectionNotice, ConversationHeader, nameIn, type PanelName } from './conversation-header.tsx'
import { isOpenRequest } from './conversation-view.ts'
import { failureText } from './failure-text.ts'
import { Code } from './markdown.tsx'
import type { Source } from './source.ts'
import { PassagePanel } from './sources.tsx'
import { Timeline } from './timeline.tsx'
import type { Json, Names } from './types.ts'
import { type Followed, useConversation } from './use-conversation.ts'
import { jsonText, visible } from './visible-text.ts'

interface ConversationProps {
  readonly client: HoldfastClient
  readonly contextId: string
  readonly names: Names
  /** A turn has begun or ended. */
  readonly onActivity: () => void
}

type Panel = PanelName | Source | undefined

export function Conversation({ client, contextId, names, onActivity }: ConversationProps) {
  const followed = useConversation(client, contextId)
  const { view, connection, kind } = followed
  const [panel, setPanel] = useState<Panel>()
  const [problem, setProblem] = useState('')
  const actions = useActions(followed, { setProblem, onSource: setPanel })
  const name = nameIn(contextId)
  // A flow is a graph that takes messages.
  const isGraph = names.all.includes(name) ? names.graphs.includes(name) : kind === 'graph'
  useEffect(onActivity, [view.ended, view.isRunning, onActivity])
  useEscape(() => {
    if (view.isRunning) actions.cancel()
    else setPanel(undefined)
  })
  return (
    <div className={panel === undefined ? 'conversation' : 'conversation with-panel'}>
      <ConversationHeader
        contextId={contextId}
        connection={connection}
        panel={typeof panel === 'object' ? undefined : panel}
        onToggle={(which) => setPanel(panel === which ? undefined : which)}
      />
      <div className="body">
        <div className="talk">
          <Chat view={view} actions={actions.chat} onEarlier={followed.earlier} />
          {problem !== '' && (
            <p className="error" role="alert">
              {visible(problem)}
            </p>
          )}
          <ConnectionNotice connection={connection} onRetry={followed.follow} />
          <Composer
            name={name}
            isGraph={isGraph}
            isRunning={view.isRunning}
            isAsking={isGraph && view.items.some(isOpenRequest)}
            onSend={actions.send}
            onCancel={actions.cancel}
          />
        </div>
        {panel !== undefined && (
          <aside className="panel" aria-label={panelName(panel)}>
            {panel === 'timeline' && <Timeline entries={view.entries} />}
            {panel === 'state' && <State followed={followed} />}
            {typeof panel === 'object' && (
              <PassagePanel
                key={`${panel.passageId} ${panel.quote}`}
                client={client}
                source={panel}
                onClose={() => setPanel(undefined)}
              />
            )}
          </aside>
        )}
      </div>
    </div>
  )
}

function panelName(panel: NonNullable<Panel>): string {
  if (typeof panel === 'object') return 'Passage'
  return panel === 'timeline' ? 'Timeline' : 'State'
}

interface PageActions {
  readonly setProblem: (problem: string) => void
  readonly onSource: (source: Source) => void
}

function useActions({ conversation, stored }: Followed, { setProblem, onSource }: PageActions) {
  // The same functions while the conversation is the same, so that items that did not change are not drawn again.
  const chat = useMemo(() => {
    const report = (error: unknown): void => setProblem(failureText(error))
    return {
      onAnswer: async (requestId: string, value: Json): Promise<void> => {
        await conversation.answer({ [requestId]: value })
      },
      onContinue: (): void => {
        setProblem('')
        conversation.send({ continue: true }).catch(report)
      },
      cancel: (): void => {
        setProblem('')
        conversation.cancel('cancelled on the page').catch(report)
      },
      onSource,
    }
  }, [conversation, setProblem, onSource])
  const send = async (message: SendMessage): Promise<void> => {
    setProblem('')
    await conversation.send(message)
    stored()
  }
  return { chat, cancel: chat.cancel, send }
}

function useEscape(act: () => void): void {
  useEffect(() => {
    const keyDown = (event: KeyboardEvent): void => {
      // There Escape clears the search or closes the list of options.
      const isTaken = event.target instanceof HTMLElement && event.target.matches('select, [type=search]')
      if (event.key === 'Escape' && !event.isComposing && !isTaken) act()
    }
    document.addEventListener('keydown', keyDown)
    return () => document.removeEventListener('keydown', keyDown)
  })
}

/** The state of a graph, or the active values of an agent's conversation. */
function State({ followed: { conversation, view } }: { readonly followed: Followed }) {
  const [read, setRead] = useState<{ readonly state: Json } | { readonly problem: string }>()
  const steps = view.entries.filter(({ type }) => type === 'graph.step').length
  useEffect(() => {
    let isOver = false
    conversation
      .state()
      .then((state) => isOver || setRead({ state }))
      .catch((error: unknown) => isOver || setRead({ problem: failureText(error) }))
    return () => {
      isOver = true
    }
  }, [conversation, view.ended, steps])
  if (read === undefined) return <p className="muted">Reading…</p>
  if ('problem' in read) return <p className="error">{visible(read.problem)}</p>
  return (
    <div className="state">
      <Code text={jsonText(read.state)} label="State" />
    </div>
  )
}
