"""Byte scanners of delimited text: is every record whole, and the same text in one canonical shape.

Quoting is RFC 4180's: a field that starts with a quote ends at the next quote that is not doubled; a quote anywhere
else is text. CR, LF and CRLF end a record outside quotes, and a physical line everywhere.
"""

import numpy as np
from numba import njit

__all__ = [
    "AFTER_QUOTE",
    "BLANK_LINE",
    "END",
    "FAULT",
    "FAULT_FIELDS",
    "FAULT_LINE",
    "FIELDS",
    "HEADER_END",
    "LONE_CR",
    "MULTILINE",
    "OPENED_LINE",
    "QUOTED",
    "QUOTES_IN_TEXT",
    "RAGGED",
    "RECORDS",
    "SPACED",
    "SPLITS",
    "SURVEY_SIZE",
    "TOO_LONG",
    "TRAILING",
    "UNCLOSED",
    "canonical",
    "squeeze",
    "survey",
    "warm",
]

# Kinds of fault.
RAGGED, UNCLOSED, AFTER_QUOTE, BLANK_LINE, TOO_LONG = 1, 2, 3, 4, 5

# Positions in what `survey` finds.
RECORDS = 0  # whole records, the header among them
FIELDS = 1  # fields of the header
FAULT = 2  # 0 or the kind of the first fault, at which the survey ended
FAULT_LINE = 3  # physical line, from 1
FAULT_FIELDS = 4  # fields of the faulty record, as far as read
OPENED_LINE = 5  # line on which the faulty field starts
QUOTES_IN_TEXT = 6  # quotes inside unquoted fields
MULTILINE = 7  # records that hold line ends in quotes
LONE_CR = 8  # records ended by a CR alone
HEADER_END = 9  # offset behind the header's line end
END = 10  # offset behind the last record's line end: blank lines follow, or nothing
SPLITS = 11  # fields behind a delimiter, the header's left out
SPACED = 12  # those of them that start with a space
QUOTED = 13  # quoted fields
TRAILING = 14  # fields that end with a blank
SURVEY_SIZE = 15

_LF, _CR, _QUOTE, _SPACE, _TAB, _BOM = 10, 13, 34, 32, 9, 0xEF


@njit(cache=True, nogil=True)
def survey(data, delimiter, trim, even, limit, found, widths, jumps):
    """Walk all records once and put into `found` (int64, SURVEY_SIZE) what they are.

    data (uint8) is the text; delimiter its byte. With trim, blanks around a field are no part of it. With even, a
    record that is not as wide as the header, or a blank line between records, is a fault; a blank line in a
    one-column text is an empty field. limit: bytes a field may have.
    widths (int32, any size) takes the fields of the first records; jumps (int64, any size x 2) takes of the first
    records that hold line ends: the record's number, and all line ends held so far.
    """
    end = data.size
    stops = np.zeros(256, np.bool_)
    stops[delimiter] = True
    stops[_QUOTE] = True
    stops[_LF] = True
    stops[_CR] = True
    found[:] = 0
    records = 0
    columns = 0
    quoted = 0
    trailing = 0
    quotes_in_text = 0
    multiline = 0
    lone_cr = 0
    splits = 0
    spaced = 0
    held = 0  # line ends inside quotes, so far
    blanks = 0  # blank lines since the last record
    blank_line = 0  # the first of them
    line = 1
    fault = 0
    fault_fields = 0
    opened = 0
    i = 0
    while i < end:
        record_start = i
        record_line = line
        opened = line
        fields = 0
        within = True
        while within:
            start = i
            opened = line
            if trim:
                while i < end and (data[i] == _SPACE or data[i] == _TAB) and data[i] != delimiter:
                    i += 1
            if i < end and data[i] == _QUOTE:
                quoted += 1
                i += 1
                while True:
                    while i < end and data[i] != _QUOTE:
                        if data[i] == _LF or (data[i] == _CR and not (i + 1 < end and data[i + 1] == _LF)):
                            line += 1
                        i += 1
                    if i >= end:
                        fault = UNCLOSED
                        break
                    i += 1
                    if i >= end or data[i] != _QUOTE:
                        break
                    i += 1
                if trim:
                    while i < end and (data[i] == _SPACE or data[i] == _TAB) and data[i] != delimiter:
                        i += 1
                if fault == 0 and i < end and (not stops[data[i]] or data[i] == _QUOTE):
                    fault = AFTER_QUOTE
            else:
                while i < end:
                    if stops[data[i]]:
                        if data[i] != _QUOTE:
                            break
                        quotes_in_text += 1
                    i += 1
            if fault == 0 and i - start > limit:
                fault = TOO_LONG
            if fault != 0:
                fault_fields = fields
                break
            fields += 1
            if i > start and (data[i - 1] == _SPACE or data[i - 1] == _TAB):
                trailing += 1
            if fields > 1 and records > 0:
                splits += 1
                if start < end and data[start] == _SPACE:
                    spaced += 1
            if i < end and data[i] == delimiter:
                i += 1
            else:
                within = False
        if fault != 0:
            break
        record_end = i
        if i < end:
            i += 1
            if data[i - 1] == _CR:
                if i < end and data[i] == _LF:
                    i += 1
                else:
                    lone_cr += 1

        # The last line of a text without a final line end is not blank: it has at least one byte.
        blank = fields == 1
        if blank and columns == 1:
            blank = record_start == record_end
        elif blank:
            for j in range(record_start, record_end):
                if data[j] != _SPACE and data[j] != _TAB:
                    blank = False
                    break
        if blank:
            if blanks == 0:
                blank_line = record_line
            blanks += 1
            line += 1
            continue

        if blanks > 0:
            if columns == 1:
                for _ in range(blanks):
                    if records < widths.size:
                        widths[records] = 1
                    records += 1
            elif even:
                fault = BLANK_LINE
                line = blank_line
                fault_fields = 0
                break
            blanks = 0
        if records == 0:
            columns = fields
            found[HEADER_END] = i
        elif even and fields != columns:
            fault = RAGGED
            line = record_line
            opened = record_line
            fault_fields = fields
            break
        if records < widths.size:
            widths[records] = fields
        if line > record_line:
            held += line - record_line
            if multiline < jumps.shape[0]:
                jumps[multiline, 0] = records
                jumps[multiline, 1] = held
            multiline += 1
        records += 1
        line += 1
        found[END] = i

    found[RECORDS] = records
    found[FIELDS] = columns
    found[FAULT] = fault
    found[FAULT_LINE] = line if fault != 0 else 0
    found[FAULT_FIELDS] = fault_fields
    found[OPENED_LINE] = opened if fault != 0 else 0
    found[QUOTES_IN_TEXT] = quotes_in_text
    found[MULTILINE] = multiline
    found[LONE_CR] = lone_cr
    found[SPLITS] = splits
    found[SPACED] = spaced
    found[QUOTED] = quoted
    found[TRAILING] = trailing


@njit(cache=True, nogil=True)
def canonical(data, delimiter, trim, out):
    """Write text that `survey` found whole so that any reader agrees about it; returns the bytes written to `out`.

    Lines end with LF, blanks around fields are gone if trim, and a field is quoted if it was, or holds a quote, or is
    alone and empty, or starts the text with what may be a byte order mark. `out` (uint8) needs room for data.size,
    3 a quote in unquoted text, 2 a record, and 3.
    """
    end = data.size
    stops = np.zeros(256, np.bool_)
    stops[delimiter] = True
    stops[_LF] = True
    stops[_CR] = True
    i = 0
    o = 0
    first = True  # field of its record
    while i < end:
        if trim:
            while i < end and (data[i] == _SPACE or data[i] == _TAB) and data[i] != delimiter:
                i += 1
        begin = o
        if i < end and data[i] == _QUOTE:
            while True:
                out[o] = _QUOTE
                o += 1
                i += 1
                while data[i] != _QUOTE:
                    out[o] = data[i]
                    o += 1
                    i += 1
                out[o] = _QUOTE
                o += 1
                i += 1
                if i >= end or data[i] != _QUOTE:
                    break
            if trim:
                while i < end and not stops[data[i]]:
                    i += 1
        else:
            quotes = 0
            while i < end and not stops[data[i]]:
                quotes += data[i] == _QUOTE
                out[o] = data[i]
                o += 1
                i += 1
            if trim:
                while o > begin and (out[o - 1] == _SPACE or out[o - 1] == _TAB):
                    o -= 1
            if quotes > 0 or (begin == 0 and o > 0 and out[0] == _BOM):
                # Move the field's bytes to the right from behind, doubling quotes.
                source = o - 1
                o += quotes + 2
                out[o - 1] = _QUOTE
                target = o - 2
                while source >= begin:
                    out[target] = out[source]
                    target -= 1
                    if out[source] == _QUOTE:
                        out[target] = _QUOTE
                        target -= 1
                    source -= 1
                out[begin] = _QUOTE
        if i < end and data[i] == delimiter:
            out[o] = delimiter
            o += 1
            i += 1
            first = False
            if i < end:
                continue
            # The text ends behind a delimiter: one more field, empty.
        if first and o == begin:
            out[o] = _QUOTE
            out[o + 1] = _QUOTE
            o += 2
        out[o] = _LF
        o += 1
        first = True
        if i < end:
            i += 1
            if data[i - 1] == _CR and i < end and data[i] == _LF:
                i += 1
    return o


@njit(cache=True, nogil=True)
def squeeze(data, delimiter, out):
    """Drop the blanks that lead the fields of text without quotes; returns the bytes written to `out`.

    The quick way for a common dialect, as no branch depends on the bytes. `out` may be the memory of `data`, or start
    before it.
    """
    o = 0
    leading = True
    for i in range(data.size):
        byte = data[i]
        out[o] = byte
        skipped = leading and byte in (_SPACE, _TAB) and byte != delimiter
        o += not skipped
        leading = skipped or byte in (delimiter, _LF, _CR)
    return o


def warm() -> None:
    """Compile every kernel for the types in use."""
    data = np.frombuffer(bytearray(b"a,b\n1,2\n"), np.uint8)
    found = np.zeros(SURVEY_SIZE, np.int64)
    survey(data, 44, False, True, 100, found, np.zeros(0, np.int32), np.zeros((0, 2), np.int64))
    canonical(data, 44, False, np.zeros(32, np.uint8))
    squeeze(data, 44, np.zeros(32, np.uint8))
