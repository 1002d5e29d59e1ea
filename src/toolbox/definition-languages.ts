/**
 * The languages whose definitions are found, with their grammars and queries. Captures name the kind of a definition; the
 * capture `name` is its name, `of` the type that a method belongs to, `exported` a name that an export lists. `local` is a
 * constant that counts only if it is exported so, `scope` the code of a function, whose inside is not listed, `same` a node
 * that is no scope of its own, `impl` a part of a type.
 */

export interface DefinitionLanguage {
  readonly id: string
  /** With the dot. */
  readonly extensions: readonly string[]
  /** The npm package of the grammar, and its file there. */
  readonly package: string
  readonly file: string
  readonly query: string
}

const FUNCTIONS = '[(arrow_function) (function_expression) (generator_function)]'

const ECMASCRIPT = `
(function_declaration name: (_) @name) @function
(generator_function_declaration name: (_) @name) @function
(class_declaration name: (_) @name) @class
(class_body (method_definition name: (_) @name) @function)
(variable_declarator name: (identifier) @name value: ${FUNCTIONS}) @function
(variable_declarator name: (identifier) @name value: (class) @same) @class
(export_statement value: ${FUNCTIONS} @function)
(export_statement value: (class) @class)
(export_statement declaration: (_ (variable_declarator name: (identifier) @name) @constant))
(export_statement declaration: (_ (variable_declarator name: (object_pattern [
  (shorthand_property_identifier_pattern) @name @constant
  (pair_pattern value: (identifier) @name @constant)
  (rest_pattern (identifier) @name @constant)
]))))
(export_statement declaration: (_ (variable_declarator name: (array_pattern (identifier) @name @constant))))
(program (_ (variable_declarator name: (identifier) @name) @local))
(export_statement !source (export_clause (export_specifier name: (identifier) @exported)))
(export_statement value: (identifier) @exported)
((assignment_expression
  left: (member_expression object: (_) @object property: (property_identifier) @name)
  right: ${FUNCTIONS}) @function
  (#match? @object "^(module\\\\.)?exports$"))
((assignment_expression
  left: (member_expression object: (_) @object property: (property_identifier) @name)) @constant
  (#match? @object "^(module\\\\.)?exports$"))
[${FUNCTIONS} (method_definition) (class) (class_static_block)] @scope
`

const TYPESCRIPT = `${ECMASCRIPT}
(abstract_class_declaration name: (_) @name) @class
(class_body [(abstract_method_signature name: (_) @name) (method_signature name: (_) @name)] @function)
(class_body (public_field_definition name: (_) @name value: ${FUNCTIONS}) @function)
(function_signature name: (_) @name) @function
(interface_declaration name: (_) @name) @interface
(type_alias_declaration name: (_) @name) @type
(enum_declaration name: (_) @name) @enum
(internal_module name: (_) @name) @namespace
(module name: (_) @name) @namespace
(export_statement declaration: (ambient_declaration (_ (variable_declarator name: (identifier) @name) @constant)))
`

const PYTHON = `
(function_definition name: (identifier) @name) @function
(class_definition name: (identifier) @name) @class
((module (expression_statement (assignment left: (identifier) @name) @constant))
  (#match? @name "^_?[A-Z][A-Z0-9_]*$"))
(type_alias_statement left: (type) @name) @type
(lambda) @scope
`

const GO = `
(function_declaration name: (identifier) @name) @function
(method_declaration
  receiver: (parameter_list (parameter_declaration type: (_) @of)) name: (field_identifier) @name) @method
(type_spec name: (type_identifier) @name type: (struct_type)) @struct
(type_spec name: (type_identifier) @name type: (interface_type)) @interface
(type_spec name: (type_identifier) @name) @type
(type_alias name: (type_identifier) @name) @type
((const_spec (identifier) @name @constant) (#match? @name "^[A-Z]"))
((var_spec (identifier) @name @variable) (#match? @name "^[A-Z]"))
(func_literal) @scope
`

const RUST = `
(function_item name: (identifier) @name) @function
(function_signature_item name: (identifier) @name) @function
(struct_item name: (type_identifier) @name) @struct
(union_item name: (type_identifier) @name) @union
(enum_item name: (type_identifier) @name) @enum
(trait_item name: (type_identifier) @name) @trait
(impl_item type: (_) @name) @impl
(mod_item name: (identifier) @name) @module
(type_item name: (type_identifier) @name) @type
(const_item (visibility_modifier) name: (identifier) @name) @constant
(static_item (visibility_modifier) name: (identifier) @name) @constant
(macro_definition name: (identifier) @name) @macro
(closure_expression) @scope
`

const BASH = `
(function_definition name: (word) @name) @function
(declaration_command ["export" "readonly"] (variable_assignment name: (variable_name) @name @constant))
`

export const LANGUAGES: readonly DefinitionLanguage[] = [
  {
    id: 'TypeScript',
    extensions: ['.ts', '.mts', '.cts'],
    package: 'tree-sitter-typescript',
    file: 'tree-sitter-typescript.wasm',
    query: TYPESCRIPT,
  },
  {
    id: 'TSX',
    extensions: ['.tsx'],
    package: 'tree-sitter-typescript',
    file: 'tree-sitter-tsx.wasm',
    query: TYPESCRIPT,
  },
  {
    id: 'JavaScript',
    extensions: ['.js', '.mjs', '.cjs', '.jsx'],
    package: 'tree-sitter-javascript',
    file: 'tree-sitter-javascript.wasm',
    query: `${ECMASCRIPT}(class_body (field_definition property: (_) @name value: ${FUNCTIONS}) @function)`,
  },
  {
    id: 'Python',
    extensions: ['.py', '.pyi'],
    package: 'tree-sitter-python',
    file: 'tree-sitter-python.wasm',
    query: PYTHON,
  },
  { id: 'Go', extensions: ['.go'], package: 'tree-sitter-go', file: 'tree-sitter-go.wasm', query: GO },
  {
    id: 'Rust',
    extensions: ['.rs'],
    package: 'tree-sitter-rust',
    file: 'tree-sitter-rust.wasm',
    query: RUST,
  },
  {
    id: 'Bash',
    extensions: ['.sh', '.bash'],
    package: 'tree-sitter-bash',
    file: 'tree-sitter-bash.wasm',
    query: BASH,
  },
]

const BY_EXTENSION: ReadonlyMap<string, DefinitionLanguage> = new Map(
  LANGUAGES.flatMap((language) => language.extensions.map((extension) => [extension, language])),
)

/** The language of a file, by the end of its name. */
export function languageOf(path: string): DefinitionLanguage | undefined {
  return BY_EXTENSION.get(extensionOf(path))
}

/** With the dot, in lower case; empty if there is none. */
export function extensionOf(path: string): string {
  return /[^/](\.[^./]+)$/.exec(path)?.[1]?.toLowerCase() ?? ''
}
