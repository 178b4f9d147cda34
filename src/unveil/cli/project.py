"""ARX projects on the command line: a schema and a folder of hierarchies out of one."""

from pathlib import Path

from unveil.cli._shared import keep_apart, make_folder, say, write

__all__ = ["write_project_schema"]


def write_project_schema(project: Path, output: Path | None) -> None:
    """Write the schema, and beside it the hierarchies; to the terminal the schema alone."""
    from unveil.formats.arx_schema import draft_project
    from unveil.formats.output import write_whole

    draft = draft_project(project)
    say(f"{project}: {draft.rows} rows, {len(draft.ladders)} hierarchies")
    for note in draft.notes:
        say(note)
    if output is None:
        write(None, draft.toml)
        if draft.files:
            say("The hierarchies are written with -o FILE, into a folder beside it.")
        return
    files = {output.parent / draft.files[name]: ladder.to_csv().encode() for name, ladder in draft.ladders.items()}
    keep_apart(inputs=[project], outputs=[output, *files])
    for folder in {path.parent for path in files}:
        make_folder(folder)
    write_whole({output: draft.toml.encode(), **files})
    say(f"wrote {output}" + (f" and {len(files)} hierarchies beside it" if files else ""))
    say("The roles are those set in ARX. Read them, mend them, then set confirmed = true.")
