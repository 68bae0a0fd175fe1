#include "text/tokenizer/steps.h"
