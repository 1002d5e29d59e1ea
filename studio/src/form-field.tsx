/** One field of a form made from JSON Schema, with the fields inside of it. */
import { type ReactNode, useId } from 'react'
import { type Draft, draftOf, errorAt, type Field, fieldOf, inner, type Schema } from './form-draft.ts'
import { type Json, nameIn, textIn } from './types.ts'
import { shortText, visible } from './visible-text.ts'

export interface FieldProps {
  readonly schema: Schema
  readonly root: Schema
  readonly path: string
  readonly label: string
  readonly isRequired: boolean
  readonly draft: Draft
  readonly errors: Readonly<Record<string, string>>
  readonly onChange: (draft: Draft) => void
}

export function FormField(props: FieldProps) {
  const field = fieldOf(props.schema, props.root)
  const title = visible(textIn(field.schema['title']) ?? props.label)
  if (field.kind === 'object') return <ObjectField {...props} field={field} title={title} />
  if (field.kind === 'list') return <ListField {...props} field={field} title={title} />
  return <LeafField {...props} field={field} title={title} />
}

interface Resolved extends FieldProps {
  readonly field: Field
  readonly title: string
}

function ObjectField({
  field,
  title,
  schema: own,
  root,
  path,
  isRequired,
  draft,
  errors,
  onChange,
}: Resolved) {
  const error = errorAt(errors, path)
  if (draft === undefined)
    return (
      <div className="field">
        <button type="button" className="quiet" onClick={() => onChange(draftOf(own, root))}>
          Add {title}
        </button>
        {error !== undefined && <p className="error">{error}</p>}
      </div>
    )
  const drafts = (typeof draft === 'object' ? draft : {}) as { readonly [name: string]: Draft }
  return (
    <fieldset>
      {title !== '' && <legend>{title}</legend>}
      <Description field={field} />
      {field.fields.map(({ name, schema, isRequired: isNeeded }) => (
        <FormField
          key={name}
          schema={schema}
          root={root}
          path={inner({ path }, name)}
          label={name}
          isRequired={isNeeded}
          draft={drafts[name]}
          errors={errors}
          onChange={(changed) => onChange({ ...drafts, [name]: changed })}
        />
      ))}
      {(!isRequired || field.isNullable) && (
        <button type="button" className="quiet" onClick={() => onChange(undefined)}>
          Remove {title}
        </button>
      )}
    </fieldset>
  )
}

function ListField({ field, title, root, path, draft, errors, onChange }: Resolved) {
  const list = Array.isArray(draft) ? (draft as readonly Draft[]) : []
  return (
    <fieldset>
      <legend>{title === '' ? 'List' : title}</legend>
      <Description field={field} />
      {list.map((each, at) => (
        <div className="row" key={at}>
          <FormField
            schema={field.item}
            root={root}
            path={inner({ path }, String(at))}
            label={`${title} ${at + 1}`.trim()}
            isRequired
            draft={each}
            errors={errors}
            onChange={(changed) => onChange(list.with(at, changed))}
          />
          <button
            type="button"
            className="quiet"
            aria-label={`Remove ${title} ${at + 1}`}
            onClick={() => onChange(list.toSpliced(at, 1))}
          >
            Remove
          </button>
        </div>
      ))}
      <button type="button" className="quiet" onClick={() => onChange([...list, draftOf(field.item, root)])}>
        Add{title === '' ? '' : ` to ${title}`}
      </button>
    </fieldset>
  )
}

function LeafField(props: Resolved) {
  const { field, title, path, isRequired, draft, errors, onChange } = props
  const id = useId()
  const error = errorAt(errors, path)
  const described = { id, 'aria-invalid': error !== undefined, 'aria-describedby': `${id}-note` }
  if (field.kind === 'boolean')
    return (
      <Wrapped id={id} field={field} error={error}>
        <label className="check">
          <input
            type="checkbox"
            {...described}
            checked={draft === true}
            onChange={({ target }) => onChange(target.checked)}
          />
          {title}
        </label>
      </Wrapped>
    )
  return (
    <Wrapped id={id} field={field} error={error}>
      <label htmlFor={id}>
        {title === '' ? 'Answer' : title}
        {isRequired && !field.isNullable && <span className="required"> (required)</span>}
      </label>
      <Input
        described={described}
        field={field}
        text={typeof draft === 'string' ? draft : ''}
        onChange={onChange}
      />
    </Wrapped>
  )
}

interface WrappedProps {
  readonly id: string
  readonly field: Field
  readonly error: string | undefined
  readonly children: ReactNode
}

function Wrapped({ id, field, error, children }: WrappedProps) {
  return (
    <div className="field">
      {children}
      <div id={`${id}-note`}>
        <Description field={field} />
        {error !== undefined && <p className="error">{error}</p>}
      </div>
    </div>
  )
}

function Description({ field }: { readonly field: Field }) {
  const text = textIn(field.schema['description'])
  return text === undefined ? null : <p className="note">{visible(text)}</p>
}

interface InputProps {
  readonly described: Readonly<Record<string, string | boolean>>
  readonly field: Field
  readonly text: string
  readonly onChange: (text: string) => void
}

const TYPES: Readonly<Record<string, string>> = {
  date: 'date',
  email: 'email',
  uri: 'url',
}

/** By format: inputs of browsers leave out the seconds and the zone, which the formats want. */
const EXAMPLES: Readonly<Record<string, string>> = {
  time: '14:30:00Z',
  'date-time': '2030-12-31T14:30:00Z',
}

function Input({ described, field, text, onChange }: InputProps) {
  const { kind, schema, options, labels } = field
  if (kind === 'choice')
    return (
      <select {...described} value={text} onChange={({ target }) => onChange(target.value)}>
        <option value="">Choose…</option>
        {options.map((option, at) => (
          <option key={at} value={String(at)}>
            {shortText(labels[at] ?? optionText(option))}
          </option>
        ))}
      </select>
    )
  const isLong = Number(schema['maxLength'] ?? 0) > 200
  if (kind === 'json' || isLong)
    return (
      <textarea
        {...described}
        className={kind === 'json' ? 'mono' : ''}
        rows={4}
        value={text}
        placeholder={kind === 'json' ? 'JSON' : ''}
        onChange={({ target }) => onChange(target.value)}
      />
    )
  return (
    <input
      {...described}
      type={kind === 'number' ? 'text' : (TYPES[nameIn(schema['format'])] ?? 'text')}
      inputMode={kind === 'number' ? 'decimal' : undefined}
      autoComplete="off"
      placeholder={EXAMPLES[nameIn(schema['format'])]}
      value={text}
      onChange={({ target }) => onChange(target.value)}
    />
  )
}

/** An option that is an object is called by its label, name or title. */
export function optionText(option: Json): string {
  if (typeof option !== 'object' || option === null) return shortText(option)
  const { label, name, title } = option as Record<string, Json>
  const found = [label, name, title].find((each) => typeof each === 'string')
  return shortText(found ?? option)
}
