#include "protocol/message.h"

const char *message_role_name(enum message_role role)
{
    switch (role) {
    case MESSAGE_SYSTEM:
        return "system";
    case MESSAGE_USER:
        return "user";
    case MESSAGE_ASSISTANT:
        return "assistant";
    }
    return "";
}
