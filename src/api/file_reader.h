/* src/api/file_reader.h
 *
 * The readers as the corpus wants them: store and readers know nothing of each other, here they meet.
 */
#ifndef FATHOM_API_FILE_READER_H
#define FATHOM_API_FILE_READER_H

#include "store/corpus.h"

/* Reads every kind of file that the readers know; for corpus_index_options. */
extern const struct corpus_reader file_reader;

#endif
