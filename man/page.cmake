# SPDX-License-Identifier: BSD-3-Clause
# cmake -DSCDOC=program -DSOURCE=page.3.scd -DOUTPUT=page.3 -P page.cmake: makes a page with scdoc(1), then corrects what
# scdoc leaves in its output.
execute_process(COMMAND ${SCDOC} INPUT_FILE ${SOURCE} OUTPUT_VARIABLE page RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "${SOURCE}: scdoc failed")
endif()

# scdoc switches hyphenation and justification off before .TH, which switches them on again: names of functions and
# options would be hyphenated.
string(REGEX REPLACE "(\n\\.TH [^\n]*)" "\\1\n.nh\n.ad l" page "${page}")

# It escapes the hyphens of the date, which mandoc then cannot read.
string(REGEX REPLACE "(\n\\.TH [^\n]*[0-9][0-9][0-9][0-9])\\\\-([0-9][0-9])\\\\-" "\\1-\\2-" page "${page}")

# Paragraph macros without effect, of which mandoc -T lint warns. One at the end of an indented block separates the block
# from what follows, so it goes behind the block.
string(REGEX REPLACE "\n\\.P((\n\\.RE)+)" "\\1\n.P" page "${page}")
string(REGEX REPLACE "(\n\\.P)+\n" "\n.P\n" page "${page}")
string(REGEX REPLACE "(\n\\.S[HS] [^\n]*)\n\\.P\n" "\\1\n" page "${page}")
string(REGEX REPLACE "\n\\.P(\n\\.S[HS] )" "\\1" page "${page}")
string(REGEX REPLACE "\n\\.P\n$" "\n" page "${page}")

# scdoc keeps the tab of an indented line behind a line break.
string(REGEX REPLACE "\n\\.br\n\t+" "\n.br\n" page "${page}")

# A type stays on the line of its parameter's name, and an option on that of its argument.
string(REGEX REPLACE " (\\*+\\\\fR\\\\fI)" "\\\\ \\1" page "${page}")
string(REGEX REPLACE "(\\\\fB,? ?[^ \n]*\\\\fR) (\\\\fI)" "\\1\\\\ \\2" page "${page}")

# The first line names the preprocessor of tables, for readers that look there.
if(page MATCHES "\n\\.TS\n")
  string(PREPEND page "'\\\" t\n")
endif()
file(WRITE ${OUTPUT} "${page}")
